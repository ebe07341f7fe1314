// tokenize, detokenize and complete on a tiny model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/cli/run.h"
#include "tests/cli/tiny_model.h"

namespace moxie::cli {
namespace {

using ::testing::HasSubstr;

class TextCommands : public ::testing::Test {
 protected:
  TinyModel model_{"mixtral",
                   ::testing::TempDir() + "/moxie_text_commands_" + std::to_string(::getpid())};
};

TEST_F(TextCommands, TokenizeAndDetokenize) {
  Outcome ids = Moxie({"tokenize", model_.path(), "--text", "w7 w0 w255"});
  EXPECT_EQ(ids.code, 0) << ids.err;
  EXPECT_EQ(ids.out, "[7,0,255]\n");
  Outcome text = Moxie({"detokenize", model_.path(), "--ids", "7,0,255"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, "w7 w0 w255\n");
}

TEST_F(TextCommands, ATokenizerIsEnoughAndTextsComeFromFiles) {
  const std::string file = model_.path() + "/text.txt";
  std::ofstream(file) << "w7 w0 w255";
  Outcome ids = Moxie({"tokenize", "--tokenizer", model_.path(), "--file", file});
  EXPECT_EQ(ids.code, 0) << ids.err;
  EXPECT_EQ(ids.out, "[7,0,255]\n");
  Outcome text = Moxie({"detokenize", "--tokenizer", model_.path(), "--ids", "7"});
  EXPECT_EQ(text.out, "w7\n") << text.err;
  Outcome none = Moxie({"detokenize", "--tokenizer", model_.path(), "--ids", "1000000"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("no token has the id 1000000"));
  EXPECT_EQ(Moxie({"tokenize", "--text", "x"}).code, 2);
  EXPECT_EQ(Moxie({"tokenize", model_.path(), "--text", "x", "--file", file}).code, 1);
}

TEST_F(TextCommands, CompleteIsGreedyAtTemperatureZero) {
  std::vector<std::string> line{"complete",       model_.path(), "--prompt",      "w1 w2 w3",
                                "--max-tokens",   "6",           "--temperature", "0",
                                "--max-num-seqs", "2",           "--compute",     "f32"};
  Outcome first = Moxie(line);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(std::count(first.out.begin(), first.out.end(), 'w'), 6) << first.out;
  Outcome second = Moxie(line);
  EXPECT_EQ(first.out, second.out);
}

TEST_F(TextCommands, CompleteFollowsTheSeed) {
  auto sample = [&](const char* seed) {
    Outcome outcome = Moxie({"complete", model_.path(), "--prompt", "w1", "--max-tokens", "8",
                             "--temperature", "2", "--max-num-seqs", "2", "--seed", seed});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(sample("1"), sample("1"));
  EXPECT_NE(sample("1"), sample("2"));
}

TEST_F(TextCommands, CompleteRefusesWhatCannotFit) {
  Outcome outcome = Moxie(
      {"complete", model_.path(), "--prompt", "w1", "--max-tokens", "256", "--max-num-seqs", "2"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("256"));
}

TEST(TextCommandErrors, ModelsWithoutTokenizer) {
  const std::string bare = StrCat(MOXIE_TEST_DATA, "/tiny/mixtral");
  Outcome outcome = Moxie({"complete", bare, "--prompt", "x"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("has no tokenizer; --tokenizer takes a directory with one"));
  EXPECT_EQ(Moxie({"tokenize", bare, "--text", "x"}).code, 1);
  EXPECT_EQ(Moxie({"complete", bare}).code, 2);
}

}  // namespace
}  // namespace moxie::cli
