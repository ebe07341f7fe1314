#include "config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "config/flag_help.h"
#include "config/flag_table.h"
#include "config/flag_value.h"
#include "config/nearest.h"

namespace moxie::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<CommandLine> Parse(std::vector<std::string> args, Command command = Command::kServe) {
  return ParseCommandLine(command, args);
}

CommandLine MustParse(std::vector<std::string> args, Command command = Command::kServe) {
  auto line = Parse(std::move(args), command);
  if (!line.ok()) ADD_FAILURE() << line.status().message();
  return line.ok() ? *line : CommandLine{};
}

std::string ErrorOf(std::vector<std::string> args, Command command = Command::kServe) {
  auto line = Parse(std::move(args), command);
  return line.ok() ? "accepted" : line.status().message();
}

TEST(Flags, DefaultsAreTheTables) {
  CommandLine line = MustParse({"m"});
  EXPECT_EQ(line.engine.model, "m");
  EXPECT_EQ(line.engine.compute, "bf16");
  EXPECT_EQ(line.engine.port, 8000);
  EXPECT_EQ(line.engine.host, "");
  EXPECT_EQ(line.engine.memory_utilization, 0.92);
  EXPECT_EQ(line.engine.max_num_batched_tokens, 2048);
  EXPECT_EQ(line.engine.max_num_seqs, 256);
  EXPECT_EQ(line.engine.block_size, 16);
  EXPECT_EQ(line.engine.max_logprobs, 20);
  EXPECT_EQ(line.engine.generation_config, "auto");
  EXPECT_FALSE(line.engine.max_model_len.has_value());
  EXPECT_THAT(line.notes, IsEmpty());
}

TEST(Flags, SeedsCommandLineParses) {
  std::vector<std::string> line{"MODEL",
                                "--seed",
                                "42",
                                "--disable-log-requests",
                                "--gpu-memory-utilization",
                                "0.95",
                                "--max-num-batched-tokens",
                                "4096",
                                "--max-num-seqs",
                                "256",
                                "--max-model-len",
                                "2048",
                                "--no-enable-prefix-caching"};
  CommandLine parsed = MustParse(line);
  EXPECT_EQ(parsed.engine.seed, 42);
  EXPECT_EQ(parsed.engine.memory_utilization, 0.95);
  EXPECT_EQ(parsed.engine.max_num_batched_tokens, 4096);
  EXPECT_EQ(parsed.engine.max_num_seqs, 256);
  EXPECT_EQ(parsed.engine.max_model_len, 2048);
  EXPECT_THAT(parsed.notes, ElementsAre(HasSubstr("--disable-log-requests is no longer a flag")));
  line.insert(line.end(), {"--tensor-parallel-size", "8"});
  EXPECT_EQ(
      ErrorOf(line),
      "--tensor-parallel-size 8 is not supported yet: sharding a model over ranks; 1 works today");
}

TEST(Flags, UnderscoresAndEqualsSigns) {
  EXPECT_EQ(MustParse({"m", "--max_num_seqs", "4"}).engine.max_num_seqs, 4);
  EXPECT_EQ(MustParse({"m", "--max_num_seqs=4"}).engine.max_num_seqs, 4);
  EXPECT_EQ(MustParse({"m", "--tokenizer=a=b_c"}).engine.tokenizer, "a=b_c");
  EXPECT_FALSE(MustParse({"m", "--no_enable_prefix_caching"}).engine.prefix_caching);
}

TEST(Flags, Aliases) {
  EXPECT_EQ(MustParse({"m", "--device-memory-utilization", "0.5"}).engine.memory_utilization, 0.5);
  EXPECT_EQ(MustParse({"m", "-tp", "1"}).engine.model, "m");
  EXPECT_THAT(ErrorOf({"m", "-tp=2"}), HasSubstr("--tensor-parallel-size 2 is not supported yet"));
}

TEST(Flags, Booleans) {
  EXPECT_TRUE(MustParse({"m"}).engine.prefix_caching);
  EXPECT_TRUE(MustParse({"m", "--enable-prefix-caching"}).engine.prefix_caching);
  EXPECT_FALSE(MustParse({"m", "--no-enable-prefix-caching"}).engine.prefix_caching);
  EXPECT_THAT(ErrorOf({"m", "--no-enable-chunked-prefill"}),
              HasSubstr("--no-enable-chunked-prefill is not supported"));
  EXPECT_EQ(ErrorOf({"m", "--enable-chunked-prefill", "--no-enable-log-requests"}), "accepted");
  EXPECT_THAT(ErrorOf({"m", "--enable-prefix-caching=false"}),
              HasSubstr("takes no value: --enable-prefix-caching or --no-enable-prefix-caching "
                        "(found \"false\")"));
  EXPECT_THAT(ErrorOf({"m", "--no-port"}), HasSubstr("unknown flag --no-port"));
}

TEST(Flags, HumanIntegersWhereVllmTakesThem) {
  auto tokens = [](const char* text) {
    return MustParse({"m", "--max-num-batched-tokens", text}).engine.max_num_batched_tokens;
  };
  EXPECT_EQ(tokens("4k"), 4000);
  EXPECT_EQ(tokens("4K"), 4096);
  EXPECT_EQ(tokens("1.5k"), 1500);
  EXPECT_EQ(tokens("1M"), 1048576);
  EXPECT_EQ(MustParse({"m", "--kv-cache-memory-bytes", "2G"}).engine.kv_cache_bytes,
            int64_t{2} << 30);
  EXPECT_EQ(MustParse({"m", "--kv-cache-memory-bytes", "0.5g"}).engine.kv_cache_bytes, 500000000);
  for (const char* bad : {"1.5K", "k", "1kk", "4Ki", "1e3", "-4k", ".5k", "5.k", "99999999999t"}) {
    EXPECT_THAT(ErrorOf({"m", StrCat("--max-num-batched-tokens=", bad)}),
                HasSubstr("is not an integer from 1 to 1048576 (4k is 4000, 4K is 4096)"))
        << bad;
  }
  EXPECT_THAT(ErrorOf({"m", "--max-num-seqs", "1k"}),
              HasSubstr("is not an integer from 1 to 65536"));
}

TEST(Flags, ListsRunToTheNextFlag) {
  CommandLine line =
      MustParse({"m", "--served-model-name", "a", "b", "--api-key", "k1", "--port", "1"});
  EXPECT_THAT(line.engine.served_model_names, ElementsAre("a", "b"));
  EXPECT_THAT(line.engine.api_keys, ElementsAre("k1"));
  CommandLine bench = MustParse({"m", "--pp", "16,32", "--tg", "8", "4"}, Command::kBench);
  EXPECT_THAT(bench.bench.pp, ElementsAre(16, 32));
  EXPECT_THAT(bench.bench.tg, ElementsAre(8, 4));
}

TEST(Flags, ValuesThatStartWithADash) {
  EXPECT_EQ(MustParse({"m", "--seed", "-7"}).engine.seed, -7);
  EXPECT_EQ(MustParse({"m", "--tokenizer=-x"}).engine.tokenizer, "-x");
  EXPECT_THAT(ErrorOf({"m", "--tokenizer", "-x"}), HasSubstr("--tokenizer needs a value: a word"));
  EXPECT_THAT(ErrorOf({"m", "--port"}),
              HasSubstr("--port needs a value: an integer from 0 to 65535"));
}

TEST(Flags, TheLastOfSeveralCounts) {
  EXPECT_EQ(MustParse({"m", "--port", "1", "--port", "2"}).engine.port, 2);
}

TEST(Flags, NoneMeansAbsent) {
  EXPECT_FALSE(MustParse({"m", "--max-model-len", "None"}).engine.max_model_len.has_value());
  EXPECT_THAT(ErrorOf({"m", "--port", "None"}), HasSubstr("is not an integer"));
}

TEST(Flags, UnknownFlagsComeWithTheNearestName) {
  EXPECT_EQ(ErrorOf({"m", "--max-num-seq", "4"}),
            "unknown flag --max-num-seq; did you mean --max-num-seqs?");
  EXPECT_EQ(ErrorOf({"m", "--gpu-memory-utilisation=0.9"}),
            "unknown flag --gpu-memory-utilisation; did you mean --gpu-memory-utilization?");
  EXPECT_EQ(ErrorOf({"m", "--zzzzzzzzzzzzzz"}),
            "unknown flag --zzzzzzzzzzzzzz; see `moxie serve --help`");
  EXPECT_EQ(ErrorOf({"m", "-z"}), "unknown flag -z; see `moxie serve --help`");
}

TEST(Flags, FlagsOfOtherCommandsSaySo) {
  EXPECT_EQ(ErrorOf({"m", "--pp", "4"}), "--pp is no flag of `moxie serve` but of moxie bench");
}

TEST(Flags, TheModelIsGivenOnce) {
  EXPECT_EQ(MustParse({"--model", "m"}).engine.model, "m");
  EXPECT_EQ(MustParse({"m", "--model", "m"}).engine.model, "m");
  EXPECT_THAT(ErrorOf({"m", "--model", "n"}), HasSubstr("the model is given twice"));
  EXPECT_THAT(ErrorOf({"--port", "1"}), HasSubstr("no model directory given"));
  EXPECT_THAT(ErrorOf({"m", "n"}), HasSubstr("unexpected argument \"n\""));
  EXPECT_EQ(MustParse({"--", "-m"}).engine.model, "-m");
}

TEST(Flags, WhatACommandCannotDoWithoutIsRequired) {
  EXPECT_EQ(ErrorOf({"m"}, Command::kComplete), "--prompt is missing: Text to continue");
  EXPECT_THAT(ErrorOf({"--text", "x"}, Command::kTokenize), HasSubstr("no model directory"));
  EXPECT_EQ(MustParse({"--tokenizer", "t", "--text", "x"}, Command::kTokenize).engine.tokenizer,
            "t");
  EXPECT_THAT(ErrorOf({"--tokenizer", "t"}, Command::kServe), HasSubstr("no model directory"));
  EXPECT_EQ(MustParse({"m", "--ids", "1,2"}, Command::kDetokenize).text.ids.size(), 2u);
  EXPECT_FALSE(
      MustParse({"m", "--no-add-special-tokens"}, Command::kTokenize).text.add_special_tokens);
  EXPECT_THAT(ErrorOf({"m", "--port", "1"}, Command::kTokenize),
              HasSubstr("--port is no flag of `moxie tokenize`"));
}

TEST(Flags, ComputeAndDtypeAgree) {
  EXPECT_EQ(MustParse({"m", "--compute", "f32"}).engine.compute, "f32");
  EXPECT_EQ(MustParse({"m", "--dtype", "float"}).engine.compute, "f32");
  EXPECT_EQ(MustParse({"m", "--dtype", "bfloat16"}).engine.compute, "bf16");
  EXPECT_EQ(MustParse({"m", "--dtype", "auto", "--compute", "f32"}).engine.compute, "f32");
  EXPECT_THAT(ErrorOf({"m", "--dtype", "float32", "--compute", "bf16"}),
              HasSubstr("contradict each other"));
  EXPECT_THAT(ErrorOf({"m", "--dtype", "half"}),
              HasSubstr("--dtype: \"half\" is not one of auto, bfloat16, float, float32"));
}

TEST(Flags, StepHoldsATokenOfEachSequence) {
  EXPECT_EQ(MustParse({"m", "--max-num-batched-tokens", "64"}).engine.max_num_seqs, 64);
  EXPECT_THAT(ErrorOf({"m", "--max-num-batched-tokens", "64", "--max-num-seqs", "65"}),
              HasSubstr("--max-num-batched-tokens 64 is below --max-num-seqs 65"));
}

TEST(Flags, JsonInlineDottedAndAppended) {
  // hf-overrides is refused until code reaches it, with the value that the words build.
  EXPECT_THAT(ErrorOf({"m", "--hf-overrides", R"({"a": 1})"}),
              HasSubstr(R"(--hf-overrides {"a":1} is not supported)"));
  EXPECT_THAT(ErrorOf({"m", "--hf-overrides.rope.factor", "2.5", "--hf-overrides.rope.type=yarn"}),
              HasSubstr(R"({"rope":{"factor":2.5,"type":"yarn"}})"));
  EXPECT_THAT(ErrorOf({"m", "--hf-overrides", R"({"a":1})", "--hf-overrides.some_key", "true"}),
              HasSubstr(R"({"a":1,"some_key":true})"));
  EXPECT_THAT(ErrorOf({"m", "--hf-overrides.list+", "1", "--hf-overrides.list+=x,y"}),
              HasSubstr(R"({"list":[1,"x","y"]})"));
  EXPECT_THAT(ErrorOf({"m", "--hf-overrides.a", "1", "--hf-overrides.a.b", "2"}),
              HasSubstr("\"b\" is below a value"));
  EXPECT_THAT(ErrorOf({"m", "--hf-overrides.a", "1", "--hf-overrides.a+", "2"}),
              HasSubstr("+ appends to a list only"));
  EXPECT_THAT(ErrorOf({"m", "--hf-overrides", "{"}),
              HasSubstr("--hf-overrides: \"{\" is not JSON"));
  EXPECT_THAT(ErrorOf({"m", "--port.x", "1"}), HasSubstr("--port takes no keys"));
  EXPECT_EQ(ErrorOf({"m", "--hf-overrides", "{}"}), "accepted");
}

TEST(Flags, IgnoredFlagsAreNotedOnceAndStillChecked) {
  CommandLine line = MustParse({"m", "-O3", "--enforce-eager", "--enforce-eager", "-cc.mode=3"});
  EXPECT_THAT(line.notes, ElementsAre(HasSubstr("--enforce-eager is ignored: CUDA"),
                                      HasSubstr("--compilation-config {\"mode\":3} is ignored"),
                                      HasSubstr("--optimization-level 3 is ignored")));
  EXPECT_THAT(ErrorOf({"m", "--dp-sync-interval", "0"}),
              HasSubstr("is not an integer of at least 1"));
}

TEST(Flags, RefusedFlagsSayWhy) {
  EXPECT_EQ(ErrorOf({"m", "--grpc"}), "--grpc is not supported: HTTP is the only protocol");
  EXPECT_EQ(ErrorOf({"m", "--pipeline-parallel-size", "2"}),
            "--pipeline-parallel-size 2 is not supported: only one stage: layers are not split "
            "over machines");
  EXPECT_EQ(ErrorOf({"m", "--rope-scaling", "{}"}),
            "--rope-scaling is no longer a flag: --hf-overrides replaced it");
}

// The flags' part of the case: one line, the option, the value and the range.
TEST(Flags, CaseMemGpuMemoryFractionInvalid) {
  auto file = ReadJsonFile(StrCat(MOXIE_TEST_DATA, "/cases/mem-gpu-memory-fraction-invalid.json"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  for (const Json& option : file->at("input").at("options").as_array()) {
    const auto& [name, value] = *option.as_object().begin();
    std::string word(value.as_string());
    // Since the case was written vLLM has given this -1 a meaning, and we take its command lines.
    if (name == "--max-model-len" && word == "-1") continue;
    std::string error = ErrorOf({"m", std::string(name), word});
    EXPECT_THAT(error, HasSubstr(StrCat(std::string_view(name), ": \"", word, "\" is not a")))
        << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
  for (const Json& option : file->at("input").at("valid").as_array()) {
    const auto& [name, value] = *option.as_object().begin();
    EXPECT_EQ(ErrorOf({"m", std::string(name), std::string(value.as_string())}), "accepted");
  }
}

TEST(Flags, MaxModelLenAutoIsTheLongestThatFits) {
  EXPECT_EQ(MustParse({"m", "--max-model-len", "auto"}).engine.max_model_len, kAutoLength);
  EXPECT_EQ(MustParse({"m", "--max-model-len", "-1"}).engine.max_model_len, kAutoLength);
  EXPECT_EQ(MustParse({"m", "--max-model-len", "4K"}).engine.max_model_len, 4096);
  EXPECT_EQ(MustParse({"m"}).engine.max_model_len, std::nullopt);
  EXPECT_EQ(ErrorOf({"m", "--max-model-len", "-2"}),
            "--max-model-len: \"-2\" is not an integer from 1 to 268435456 (4k is 4000, 4K is "
            "4096), or auto, -1");
}

TEST(Flags, RangesAreInTheMessage) {
  EXPECT_EQ(ErrorOf({"m", "--gpu-memory-utilization", "1.01"}),
            "--gpu-memory-utilization: \"1.01\" is not a number above 0 and at most 1");
  EXPECT_EQ(ErrorOf({"m", "--port", "70000"}),
            "--port: \"70000\" is not an integer from 0 to 65535");
}

class FlagFile : public ::testing::Test {
 protected:
  std::string Write(std::string_view text) {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = StrCat(::testing::TempDir(), "/moxie_flags_", name, "_", ::getpid(), ".yaml");
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_;
};

TEST_F(FlagFile, GivesFlagsAndTheCommandLineWins) {
  std::string path = Write(
      "model: from-file\nport: 12323\nmax_num_seqs: 8\nserved-model-name: [a, b]\n"
      "enable-prefix-caching: false\nenforce-eager: true\napi-key:\n  - k\n");
  CommandLine line = MustParse({"--config", path});
  EXPECT_EQ(line.engine.model, "from-file");
  EXPECT_EQ(line.engine.port, 12323);
  EXPECT_EQ(line.engine.max_num_seqs, 8);
  EXPECT_THAT(line.engine.served_model_names, ElementsAre("a", "b"));
  EXPECT_THAT(line.engine.api_keys, ElementsAre("k"));
  EXPECT_THAT(line.notes, ElementsAre(HasSubstr("--enforce-eager is ignored")));
  CommandLine over =
      MustParse({"typed", "--config", path, "--port", "1", "--served-model-name", "c"});
  EXPECT_EQ(over.engine.model, "typed");
  EXPECT_EQ(over.engine.port, 1);
  EXPECT_EQ(over.engine.max_num_seqs, 8);
  EXPECT_THAT(over.engine.served_model_names, ElementsAre("c"));
}

TEST_F(FlagFile, MapsBecomeJson) {
  std::string path =
      Write("hf-overrides:\n  rope_scaling: {factor: 2.0, type: yarn}\n  name: '12'\n");
  EXPECT_THAT(
      ErrorOf({"m", "--config", path}),
      HasSubstr(
          R"(--hf-overrides {"rope_scaling":{"factor":2.0,"type":"yarn"},"name":"12"} is not supported)"));
}

TEST_F(FlagFile, ErrorsNameTheFile) {
  EXPECT_THAT(ErrorOf({"m", "--config", "/nonexistent/f.yaml"}), HasSubstr("/nonexistent/f.yaml"));
  std::string path = Write("port: 70000\n");
  EXPECT_THAT(ErrorOf({"m", "--config", path}), HasSubstr("--port: \"70000\""));
  Write("max-num-sequences: 1\n");
  EXPECT_THAT(ErrorOf({"m", "--config", path}),
              HasSubstr(StrCat(path, ": unknown flag --max-num-sequences")));
  Write("port: [1\n");
  EXPECT_THAT(ErrorOf({"m", "--config", path}), HasSubstr(StrCat(path, ": line ")));
  Write("- a\n");
  EXPECT_THAT(ErrorOf({"m", "--config", path}),
              HasSubstr("is not a map from flag names to values"));
  Write("port:\n");
  EXPECT_THAT(ErrorOf({"m", "--config", path}), HasSubstr("key \"port\": has no value"));
  Write("config: other.yaml\n");
  EXPECT_THAT(ErrorOf({"m", "--config", path}), HasSubstr("cannot name another one"));
}

// Aliases that multiply: a few hundred bytes that would be 10^9 values.
TEST_F(FlagFile, AliasesAreBounded) {
  std::string text = "hf-overrides:\n  a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 9; ++i) {
    text += StrCat("  a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) text += StrCat(j > 0 ? "," : "", "*a", i - 1);
    text += "]\n";
  }
  EXPECT_THAT(ErrorOf({"m", "--config", Write(text)}), HasSubstr("holds more than 10000 values"));
}

TEST(FlagHelp, ShowsWhatIsHonouredAndTheGroups) {
  CommandLine line = MustParse({"--help"});
  ASSERT_TRUE(line.help.has_value());
  EXPECT_THAT(*line.help, HasSubstr("Usage: moxie serve MODEL [flags]"));
  EXPECT_THAT(*line.help, HasSubstr("--port (an integer from 0 to 65535; 8000)"));
  EXPECT_THAT(*line.help, ::testing::Not(HasSubstr("--enable-lora")));
  EXPECT_THAT(*line.help, HasSubstr("SchedulerConfig"));
}

TEST(FlagHelp, Topics) {
  auto help = [](const char* topic) {
    return MustParse({StrCat("--help=", topic)}).help.value_or("");
  };
  EXPECT_THAT(help("loraconfig"), HasSubstr("--enable-lora"));
  EXPECT_THAT(help("max_num_seqs"), HasSubstr("Sequences in a step"));
  EXPECT_THAT(help("listgroup"), HasSubstr("CacheConfig"));
  EXPECT_THAT(help("all"), HasSubstr("--grpc"));
  EXPECT_THAT(ErrorOf({"--help=nothing-like-it"}), HasSubstr("no such group"));
}

TEST(NearestName, FewestEditsWithinAThird) {
  std::string_view names[] = {"--port", "--host", "--seed"};
  EXPECT_EQ(NearestName("--prt", names), "--port");
  EXPECT_EQ(NearestName("--sed", names), "--seed");
  EXPECT_EQ(NearestName("--completely-other", names), "");
  EXPECT_EQ(NearestName(std::string(100000, 'x'), names), "");
}

}  // namespace
}  // namespace moxie::config
