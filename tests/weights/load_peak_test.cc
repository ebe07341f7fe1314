// Case mem-load-peak: loading a checkpoint of 512 MiB in a fresh process never keeps more resident
// than the arena and 64 MiB, files' mapped pages included.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/weights/safetensors_writer.h"
#include "tests/weights/temp_dir.h"
#include "weights/load_plan.h"

namespace moxie::weights {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// A number of kB in /proc/self/status, as bytes.
int64_t StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return -1;
}

// How the checkpoint is cut.
enum class Files {
  kFourShards,  // of 128 MiB: one tensor of 128, eight of 16, many of 32 KiB, and four of 32, the
                // last odd in every way
  kOneFile,     // one tensor of 512 MiB
};

struct Model {
  explicit Model(Files files) {
    if (files == Files::kOneFile) {
      Add("embed", {131072, 2048}, 1, 1);
      std::string map;
      WriteShard(graph.weights[0], 1, map);
      std::filesystem::rename(dir.path() / "1.safetensors", dir.path() / "model.safetensors");
      return;
    }
    Add("embed", {65536, 1024}, 1, 1);
    Add("mlp.{i}", {4096, 2048}, 8, 1);
    Add("experts.{i}.{e}", {16, 128, 128}, 256, 16);
    Add("odd.{i}", {4801, 3495}, 4, 1);
    int shard = 0;
    std::string map;
    for (const ir::WeightSpec& spec : graph.weights) WriteShard(spec, ++shard, map);
    dir.Write("model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
  }

  TempDir dir;
  ir::Graph graph;
  std::vector<backend::WeightLayout> layouts;

 private:
  void Add(const std::string& name, tensor::Shape shape, int64_t count, int64_t experts) {
    ir::WeightSpec spec;
    spec.name = name;
    spec.type = {tensor::DType::kBF16, shape};
    spec.count = count;
    spec.checkpoint = {{name, 0, 1}};
    graph.weights.push_back(spec);
    layouts.push_back({tensor::Packing::kPanel32, tensor::DType::kBF16});
    experts_.push_back(experts);
  }
  void WriteShard(const ir::WeightSpec& spec, int shard, std::string& map) {
    const tensor::Shape& shape = spec.type.shape;
    const std::vector<int64_t> sizes{shape[shape.rank() - 2].factor, shape.back().factor};
    const std::string file = StrCat(shard, ".safetensors");
    std::vector<TensorToWrite> tensors;
    for (int64_t i = 0; i < spec.count; ++i) {
      for (int64_t e = 0; e < experts_[static_cast<size_t>(shard - 1)]; ++e) {
        std::string name = spec.name;
        if (auto at = name.find("{i}"); at != name.npos) name.replace(at, 3, StrCat(i));
        if (auto at = name.find("{e}"); at != name.npos) name.replace(at, 3, StrCat(e));
        map += StrCat(map.empty() ? "" : ",", "\"", name, "\":\"", file, "\"");
        tensors.push_back({name, "BF16", sizes,
                           std::string(static_cast<size_t>(sizes[0] * sizes[1] * 2), '\x3f')});
      }
    }
    WriteSafetensors(dir.path() / file, tensors);
  }

  std::vector<int64_t> experts_;
};

struct Peak {
  int64_t arena = 0;
  int64_t resident = 0;    // the highest ever
  int64_t file_after = 0;  // of files, after loading
};

Status LoadModel(const Model& model, Peak& peak) {
  const auto placements = PlaceWeights(model.graph, model.layouts);
  MOXIE_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(model.dir.path()));
  MOXIE_ASSIGN_OR_RETURN(LoadPlan plan, MakeLoadPlan(model.graph, placements, checkpoint, {}));
  memory::Footprint term;
  term.bytes = WeightArenaBytes(placements);
  MOXIE_ASSIGN_OR_RETURN(memory::Arena arena, memory::Arena::Map(term));
  ThreadPool pool(2);
  MOXIE_RETURN_IF_ERROR(
      Load(plan, placements, model.graph, checkpoint, nullptr, arena, pool, nullptr));
  peak = {arena.bytes(), StatusBytes("VmHWM"), StatusBytes("RssFile")};
  // The arena is full, or the figures would say nothing.
  const uint16_t* last = reinterpret_cast<const uint16_t*>(arena.data());
  return last[0] == 0x3f3f ? OkStatus() : Internal("nothing was loaded");
}

// Loads in a child, whose high-water mark begins at the fork, and brings its figures back.
Peak LoadInChild(const Model& model) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::malloc_trim(0);                               // what writing the model left
    std::ofstream("/proc/self/clear_refs") << "5";  // resets VmHWM
    Peak peak;
    Status status = LoadModel(model, peak);
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
    const bool sent = ::write(ends[1], &peak, sizeof peak) == sizeof peak;
    ::_exit(status.ok() && sent ? 0 : 1);
  }
  ::close(ends[1]);
  Peak peak;
  EXPECT_EQ(::read(ends[0], &peak, sizeof peak), static_cast<ssize_t>(sizeof peak));
  ::close(ends[0]);
  int exit_status = 0;
  EXPECT_EQ(::waitpid(child, &exit_status, 0), child);
  EXPECT_EQ(exit_status, 0);
  return peak;
}

void ExpectLowPeak(Files files) {
  const Model model(files);
  const Peak peak = LoadInChild(model);
  ASSERT_GE(peak.arena, 512 * kMiB);
  ASSERT_LE(peak.arena, 513 * kMiB);
  EXPECT_GE(peak.resident, peak.arena);
  EXPECT_LE(peak.resident, peak.arena + 64 * kMiB);
  EXPECT_LE(peak.file_after, 16 * kMiB);
  ::testing::Test::RecordProperty("resident_over_arena_kib",
                                  static_cast<int>((peak.resident - peak.arena) / 1024));
  std::printf("arena %s, peak resident %s over it, %s of files after\n",
              memory::FormatBytes(peak.arena).c_str(),
              memory::FormatBytes(peak.resident - peak.arena).c_str(),
              memory::FormatBytes(peak.file_after).c_str());
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(Cases, mem_load_peak) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow memory is resident too";
  ExpectLowPeak(Files::kFourShards);
}

TEST(Cases, mem_load_peak_of_one_file_and_one_tensor) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow memory is resident too";
  ExpectLowPeak(Files::kOneFile);
}

}  // namespace
}  // namespace moxie::weights
