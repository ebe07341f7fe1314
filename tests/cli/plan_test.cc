// moxie plan: models at their real sizes, suggestions, --max-model-len auto.
#include "memory/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

#include "base/json.h"
#include "base/status.h"
#include "tests/cli/run.h"

namespace moxie::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

std::string Tiny(std::string_view name) { return StrCat(MOXIE_TEST_DATA, "/tiny/", name); }

Words Plus(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A directory with a config.json and nothing else.
class ConfigDir {
 public:
  explicit ConfigDir(const JsonObject& config) {
    std::string name = (fs::temp_directory_path() / "moxie-plan-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    std::ofstream(path_ / "config.json") << DumpJson(config);
  }
  ~ConfigDir() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

// The published sizes.
JsonObject Llama8B() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"torch_dtype", "bfloat16"},
          {"vocab_size", 128256},
          {"hidden_size", 4096},
          {"intermediate_size", 14336},
          {"num_hidden_layers", 32},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"max_position_embeddings", 131072},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 500000.0},
          {"rope_scaling",
           {{"rope_type", "llama3"},
            {"factor", 8.0},
            {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0},
            {"original_max_position_embeddings", 8192}}}};
}

JsonObject Mixtral8x7B() {
  return {{"architectures", {"MixtralForCausalLM"}},
          {"model_type", "mixtral"},
          {"torch_dtype", "bfloat16"},
          {"vocab_size", 32000},
          {"hidden_size", 4096},
          {"intermediate_size", 14336},
          {"num_hidden_layers", 32},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"num_local_experts", 8},
          {"num_experts_per_tok", 2},
          {"max_position_embeddings", 32768},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 1e6},
          {"sliding_window", nullptr}};
}

struct Figures {
  std::map<std::string, int64_t> owners;  // resident bytes
  int64_t resident = 0;
  int64_t address_space = 0;
};

Figures Read(const std::string& text) {
  auto json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << text;
  Figures figures;
  if (!json.ok()) return figures;
  for (const Json& term : json->at("footprints").as_array()) {
    figures.owners[std::string(term.at("owner").as_string())] += term.at("bytes").as_int64();
  }
  figures.resident = json->at("resident_bytes").as_int64();
  figures.address_space = json->at("address_space_bytes").as_int64();
  return figures;
}

// The bytes that a refusal gives for an owner: "weights 15.0 GiB".
std::string RefusedBytes(const std::string& error, const std::string& owner) {
  std::smatch match;
  std::regex_search(error, match, std::regex(owner + " ([0-9.]+ .iB)"));
  return match.size() > 1 ? match[1].str() : "";
}

TEST(PlanReal, Llama8BIsItsArithmetic) {
  const ConfigDir dir(Llama8B());
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = Moxie({"plan", dir.path(), "--max-model-len", "4096", "--max-num-seqs",
                                 "4", "--num-gpu-blocks-override", "256", "--json"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  if (outcome.code != 0) {  // a machine with less memory refuses, and says the same
    EXPECT_EQ(RefusedBytes(outcome.err, "weights"), "15.0 GiB");
    GTEST_SKIP() << outcome.err;
  }
  const Figures plan = Read(outcome.out);
  // Matrices in bf16; norms in f32, two a layer and one at the end; D/2 rotary frequencies in f32.
  const int64_t attention = 4096 * (4096 + 1024 + 1024 + 4096);
  const int64_t mlp = 3 * int64_t{4096} * 14336;
  const int64_t embeddings = 2 * int64_t{128256} * 4096;
  const int64_t norms = (2 * 32 + 1) * 4096;
  EXPECT_EQ(plan.owners.at("weights"),
            2 * (32 * (attention + mlp) + embeddings) + 4 * norms + 4 * 64);
  // 256 blocks of 16 tokens; keys and values, 32 layers, 8 heads of 128, bf16.
  EXPECT_EQ(plan.owners.at("kv_cache"), int64_t{256} * 16 * 2 * 32 * 8 * 128 * 2);
  int64_t sum = 0;
  for (const auto& [owner, bytes] : plan.owners) sum += bytes;
  EXPECT_EQ(plan.resident, sum);
}

// An arena of 80 GiB is planned, checked and refused as fast as a small one, and in no more memory.
TEST(PlanReal, HugeStepsTakeNoLonger) {
  const ConfigDir dir(Llama8B());
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = Moxie({"plan", dir.path(), "--max-num-batched-tokens", "1048576",
                                 "--gpu-memory-utilization", "0.01"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(RefusedBytes(outcome.err, "arena"), "80.5 GiB");
}

TEST(PlanReal, Mixtral8x7BIsItsArithmeticOrRefusedWithIt) {
  const ConfigDir dir(Mixtral8x7B());
  const auto began = std::chrono::steady_clock::now();
  const Outcome outcome = Moxie({"plan", dir.path(), "--json"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  const int64_t attention = 4096 * (4096 + 1024 + 1024 + 4096);
  const int64_t experts = 8 * 3 * int64_t{4096} * 14336;
  const int64_t router = 32 * 4096;  // 8 rows in a panel of 32
  const int64_t embeddings = 2 * int64_t{32000} * 4096;
  const int64_t weights =
      2 * (32 * (attention + experts + router) + embeddings) + 4 * (2 * 32 + 1) * 4096 + 4 * 64;
  if (outcome.code == 0) {
    EXPECT_EQ(Read(outcome.out).owners.at("weights"), weights);
  } else {
    EXPECT_EQ(RefusedBytes(outcome.err, "weights"), memory::FormatBytes(weights));
  }
}

// Every suggestion is taken by the planner; where it ends in a number that is the largest, the next
// is refused.
void ExpectSuggestionsHold(const Words& line) {
  const Outcome refused = Moxie(line);
  ASSERT_EQ(refused.code, 1) << refused.out;
  const std::regex bracket(R"(\[([^\]]+)\])");
  int found = 0;
  for (std::sregex_iterator it(refused.err.begin(), refused.err.end(), bracket), end; it != end;
       ++it, ++found) {
    std::istringstream flags((*it)[1].str());
    Words words{std::istream_iterator<std::string>(flags), {}};
    EXPECT_EQ(Moxie(Plus(line, words)).code, 0) << (*it)[1];
    const std::string& flag = words[words.size() - 2];
    if (flag == "--max-model-len" || flag == "--max-num-seqs" ||
        flag == "--max-num-batched-tokens") {
      words.back() = StrCat(std::stoll(words.back()) + 1);
      EXPECT_EQ(Moxie(Plus(line, words)).code, 1) << flag << " " << words.back();
    }
  }
  EXPECT_GT(found, 0) << refused.err;
}

TEST(PlanSuggests, WhatFitsAndNothingLarger) {
  ExpectSuggestionsHold({"plan", Tiny("mixtral"), "--num-gpu-blocks-override", "5"});
  ExpectSuggestionsHold({"plan", Tiny("mixtral"), "--kv-cache-memory-bytes", "50000"});
  ExpectSuggestionsHold({"plan", Tiny("mixtral"), "--gpu-memory-utilization", "0.01"});
  const ConfigDir llama(Llama8B());
  ExpectSuggestionsHold(
      {"plan", llama.path(), "--num-gpu-blocks-override", "100", "--max-num-seqs", "2"});
}

// The planner's word for what a setting costs, as the error's last resort.
TEST(PlanSuggests, SaysSoWhenNothingHelps) {
  const ConfigDir dir(Mixtral8x7B());
  const Outcome outcome = Moxie({"plan", dir.path(), "--gpu-memory-utilization", "0.0001"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no length, batch, number of sequences or type of KV cache"));
}

// The case's rows; a pool of n tokens is n / 16 blocks.
TEST(PlanLength, CaseMemMaxModelLenOverDerived) {
  auto file = ReadJsonFile(StrCat(MOXIE_TEST_DATA, "/cases/mem-max-model-len-over-derived.json"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const JsonArray& variants = file->at("input").at("variants").as_array();
  const JsonArray& expected = file->at("expected").at("rows").as_array();
  ASSERT_EQ(variants.size(), expected.size());
  for (size_t i = 0; i < variants.size(); ++i) {
    const JsonObject& variant = variants[i].as_object();
    auto config = ReadJsonFile(Tiny("llama") + "/config.json");
    ASSERT_TRUE(config.ok());
    JsonObject object = config->as_object();
    object["max_position_embeddings"] =
        file->at("input").at("config").at("max_position_embeddings");
    object.erase("rope_scaling");
    object.erase("rope_parameters");
    if (const Json* scaling = variant.if_contains("rope_scaling"))
      object["rope_scaling"] = *scaling;
    const ConfigDir dir(object);
    Words line{"plan", dir.path(), "--max-num-seqs", "2"};
    if (const Json& len = variant.at("max_model_len"); !len.is_null()) {
      line = Plus(line, {"--max-model-len",
                         len.is_string() ? std::string(len.as_string()) : DumpJson(len)});
    }
    if (const Json* pool = variant.if_contains("pool_tokens")) {
      line = Plus(line, {"--num-gpu-blocks-override", StrCat(pool->as_int64() / 16)});
    }
    const Outcome outcome = Moxie(line);
    const std::string row(expected[i].as_string());
    std::smatch number;
    if (row.starts_with("ok")) {
      ASSERT_TRUE(std::regex_search(row, number, std::regex("ok: ([0-9]+)")));
      EXPECT_EQ(outcome.code, 0) << row << outcome.err;
      EXPECT_THAT(outcome.out, HasSubstr(StrCat("max_model_len    ", number[1].str(), " tokens")));
    } else {
      ASSERT_TRUE(std::regex_search(row, number, std::regex("states ([0-9]+) and ([0-9]+)")));
      EXPECT_EQ(outcome.code, 1) << row;
      EXPECT_THAT(outcome.err, HasSubstr(number[1].str()));
      const bool pool = variant.contains("pool_tokens");  // 1024 tokens are 64 blocks
      EXPECT_THAT(outcome.err, HasSubstr(pool ? "says 64" : number[2].str()));
      EXPECT_THAT(outcome.err, HasSubstr(pool ? "[--max-model-len 1024]" : "positions"));
    }
  }
}

TEST(PlanLength, AutoIsTheLongestThatFits) {
  const Words line{"plan", Tiny("mixtral"), "--num-gpu-blocks-override", "7", "--max-model-len"};
  for (const char* word : {"auto", "-1"}) {
    const Outcome outcome = Moxie(Plus(line, {word}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("max_model_len    112 tokens"));
  }
  EXPECT_EQ(Moxie(Plus(line, {"113"})).code, 1);
  const Outcome all = Moxie({"plan", Tiny("mixtral"), "--max-model-len", "auto"});
  EXPECT_THAT(all.out, HasSubstr("max_model_len    256 tokens"));
}

// A share of this machine's memory that leaves `spare` bytes beside the tiny model's plan.
std::string ShareWith(int64_t spare, const Words& line) {
  auto json = ParseJson(Moxie(Plus(line, {"--json"})).out);
  EXPECT_TRUE(json.ok());
  return StrCat(static_cast<double>(json->at("resident_bytes").as_int64() + spare) /
                static_cast<double>(json->at("limit_bytes").as_int64()));
}

// Each value of --fit is taken, and the next refused.
TEST(PlanFit, LargestOfEach) {
  Words line{"plan", Tiny("mixtral"), "--max-num-seqs", "4", "--max-num-batched-tokens", "64"};
  line = Plus(line, {"--gpu-memory-utilization", ShareWith(400 << 10, line)});
  const Outcome outcome = Moxie(Plus(line, {"--fit", "--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto fits = ParseJson(outcome.out);
  ASSERT_TRUE(fits.ok()) << outcome.out;
  EXPECT_EQ(fits->as_object().size(), 4u);
  for (const auto& [flag, fit] : fits->as_object()) {
    const int64_t value = fit.at("value").as_int64();
    EXPECT_EQ(Moxie(Plus(line, {std::string(flag), StrCat(value)})).code, 0) << flag;
    if (fit.at("is_limit").as_bool()) continue;
    EXPECT_EQ(Moxie(Plus(line, {std::string(flag), StrCat(value + 1)})).code, 1) << flag;
  }
  EXPECT_TRUE(fits->at("--max-model-len").at("is_limit").as_bool());
  EXPECT_FALSE(fits->at("--max-num-batched-tokens").at("is_limit").as_bool());
}

// Settings that do not fit themselves can still be asked what would.
TEST(PlanFit, OfSettingsThatDoNotFit) {
  const Outcome outcome =
      Moxie({"plan", Tiny("mixtral"), "--num-gpu-blocks-override", "5", "--fit"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("--max-model-len             80\n"));
}

TEST(PlanExplains, ThePeaksOpAndValuesAndWhatLowersThem) {
  const ConfigDir dir(Llama8B());
  const Words line{"plan",
                   dir.path(),
                   "--max-model-len",
                   "512",
                   "--max-num-seqs",
                   "2",
                   "--max-num-batched-tokens",
                   "1024",
                   "--num-gpu-blocks-override",
                   "64"};
  const Outcome outcome = Moxie(Plus(line, {"--explain"}));
  if (outcome.code != 0) GTEST_SKIP() << outcome.err;
  auto json = ParseJson(Moxie(Plus(line, {"--json"})).out);
  ASSERT_TRUE(json.ok());
  const Json& peak = json->at("peak");
  // In the MLP: gate and up of 1024 tokens are alive together, 14336 wide.
  EXPECT_THAT(std::string(peak.at("op").as_string()), HasSubstr("layers"));
  EXPECT_GE(peak.at("lower_bound").as_int64(), int64_t{2} * 1024 * 14336 * 2);
  EXPECT_THAT(outcome.out, HasSubstr(StrCat("alive at ", std::string(peak.at("op").as_string()))));
  int64_t sum = 0;
  for (const Json& value : peak.at("values").as_array()) {
    const std::string text(value.as_string());
    EXPECT_THAT(outcome.out, HasSubstr(StrCat("  ", text, "\n")));
    sum += (std::stoll(text.substr(text.rfind(' '))) + 63) / 64 * 64;
  }
  EXPECT_EQ(sum, peak.at("lower_bound").as_int64());
  for (const Json& term : json->at("footprints").as_array()) {
    EXPECT_THAT(outcome.out, HasSubstr(StrCat(": ", std::string(term.at("formula").as_string()))));
  }
  // Half the tokens, about half the arena: what it says is what that plan has.
  auto half = ParseJson(Moxie(Plus(line, {"--max-num-batched-tokens", "512", "--json"})).out);
  ASSERT_TRUE(half.ok());
  EXPECT_THAT(outcome.out,
              ::testing::ContainsRegex(
                  StrCat("--max-num-batched-tokens 512 +",
                         memory::FormatBytes(half->at("peak").at("arena_bytes").as_int64()))));
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size()) ++count;
  return count;
}

TEST(PlanPicture, ShowsTheArenaAndItsPeak) {
  const std::string file = StrCat(::testing::TempDir(), "/moxie-plan-arena.svg");
  const Outcome outcome = Moxie({"plan", Tiny("mixtral"), "--svg", file, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::stringstream svg;
  svg << std::ifstream(file).rdbuf();
  fs::remove(file);
  auto json = ParseJson(outcome.out);
  ASSERT_TRUE(json.ok());
  const JsonArray& values = json->at("peak").at("values").as_array();
  EXPECT_EQ(Count(svg.str(), "#d9603b"), values.size())
      << "a strong box for each value at the peak";
  for (const Json& value : values) {
    EXPECT_THAT(svg.str(), HasSubstr(StrCat(">", std::string(value.as_string()), "</text>")));
  }
  EXPECT_THAT(svg.str(), ::testing::EndsWith("</svg>\n"));
  EXPECT_EQ(Count(svg.str(), "<title>"), Count(svg.str(), "</title></rect>"));
  EXPECT_EQ(Moxie({"plan", Tiny("mixtral"), "--svg", "/nonexistent/x.svg"}).code, 1);
}

}  // namespace
}  // namespace moxie::cli
