// Loading a checkpoint that is in the page cache: a Mixtral of 1.4 GB, bf16, in four shards, packed
// into panels. One iteration is what a start does with weights: open, match, map, load.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "weights/load_plan.h"

namespace moxie::weights {
namespace {

constexpr int64_t kLayers = 30, kExperts = 8, kHidden = 576, kInter = 1536, kVocab = 49152;
constexpr int kShards = 4;

struct Named {
  std::string name;
  std::vector<int64_t> shape;
};

std::vector<Named> Tensors() {
  std::vector<Named> tensors{{"embed", {kVocab, kHidden}}};
  for (int64_t i = 0; i < kLayers; ++i) {
    for (const char* w : {"q", "k", "v", "o"}) {
      tensors.push_back({StrCat("layers.", i, ".", w), {kHidden, kHidden}});
    }
    for (int64_t e = 0; e < kExperts; ++e) {
      tensors.push_back({StrCat("layers.", i, ".experts.", e, ".w1"), {kInter, kHidden}});
      tensors.push_back({StrCat("layers.", i, ".experts.", e, ".w2"), {kHidden, kInter}});
      tensors.push_back({StrCat("layers.", i, ".experts.", e, ".w3"), {kInter, kHidden}});
    }
  }
  return tensors;
}

void WriteShard(const std::filesystem::path& path, std::span<const Named> tensors) {
  std::string header = "{";
  int64_t end = 0;
  for (const Named& t : tensors) {
    const int64_t bytes = t.shape[0] * t.shape[1] * 2;
    header +=
        StrCat(header.size() > 1 ? "," : "", "\"", t.name, "\":{\"dtype\":\"BF16\",\"shape\":[",
               t.shape[0], ",", t.shape[1], "],\"data_offsets\":[", end, ",", end + bytes, "]}");
    end += bytes;
  }
  header += "}";
  std::ofstream out(path, std::ios::binary);
  const uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header;
  const std::string data(size_t{1} << 20, '\x3f');
  for (; end > 0; end -= static_cast<int64_t>(data.size())) {
    out.write(data.data(), std::min<int64_t>(end, static_cast<int64_t>(data.size())));
  }
}

// Writes the model once; removed at exit.
class Model {
 public:
  Model() {
    std::string name = (std::filesystem::temp_directory_path() / "moxie-bench-XXXXXX").string();
    directory = ::mkdtemp(name.data());
    const std::vector<Named> tensors = Tensors();
    std::string map;
    for (int s = 0; s < kShards; ++s) {
      const Range range = SplitRange(static_cast<int64_t>(tensors.size()), kShards, s);
      std::span<const Named> part(tensors.begin() + range.begin, tensors.begin() + range.end);
      WriteShard(directory / StrCat(s, ".safetensors"), part);
      for (const Named& t : part) {
        map += StrCat(map.empty() ? "" : ",", "\"", t.name, "\":\"", s, ".safetensors\"");
      }
    }
    std::ofstream(directory / "model.safetensors.index.json") << "{\"weight_map\":{" << map << "}}";
    AddWeight("embed", {kVocab, kHidden}, 1);
    for (const char* w : {"q", "k", "v", "o"}) {
      AddWeight(StrCat("layers.{i}.", w), {kHidden, kHidden}, kLayers);
    }
    AddWeight("layers.{i}.experts.{e}.w1", {kExperts, kInter, kHidden}, kLayers);
    AddWeight("layers.{i}.experts.{e}.w2", {kExperts, kHidden, kInter}, kLayers);
    AddWeight("layers.{i}.experts.{e}.w3", {kExperts, kInter, kHidden}, kLayers);
  }
  ~Model() { std::filesystem::remove_all(directory); }

  std::filesystem::path directory;
  ir::Graph graph;
  std::vector<backend::WeightLayout> layouts;

 private:
  void AddWeight(const std::string& name, tensor::Shape shape, int64_t count) {
    ir::WeightSpec spec;
    spec.name = name;
    spec.type = {tensor::DType::kBF16, shape};
    spec.count = count;
    spec.checkpoint = {{name, 0, 1}};
    graph.weights.push_back(spec);
    layouts.push_back({tensor::Packing::kPanel32, tensor::DType::kBF16});
  }
};

Status LoadOnce(const Model& model, ThreadPool& pool, int64_t& bytes) {
  const auto placements = PlaceWeights(model.graph, model.layouts);
  MOXIE_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(model.directory));
  MOXIE_ASSIGN_OR_RETURN(LoadPlan plan, MakeLoadPlan(model.graph, placements, checkpoint, {}));
  memory::Footprint term;
  term.bytes = bytes = WeightArenaBytes(placements);
  MOXIE_ASSIGN_OR_RETURN(memory::Arena arena, memory::Arena::Map(term));
  return Load(plan, placements, model.graph, checkpoint, nullptr, arena, pool, nullptr);
}

void BM_Load(benchmark::State& state) {
  static Model model;
  ThreadPool pool(static_cast<int>(state.range(0)));
  int64_t bytes = 0;
  for (auto _ : state) {
    Status status = LoadOnce(model, pool, bytes);
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK(BM_Load)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace moxie::weights
