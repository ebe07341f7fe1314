// tokenize and detokenize on a tiny model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run.h"
#include "tests/cli/tiny_model.h"

namespace moxie::cli {
namespace {

class TextCommands : public ::testing::Test {
 protected:
  TinyModel model_{"mixtral", ::testing::TempDir() + "/moxie_text_commands"};
};

TEST_F(TextCommands, TokenizeAndDetokenize) {
  Outcome ids = Moxie({"tokenize", model_.path(), "--text", "w7 w0 w255"});
  EXPECT_EQ(ids.code, 0) << ids.err;
  EXPECT_EQ(ids.out, "[7,0,255]\n");
  Outcome text = Moxie({"detokenize", model_.path(), "--ids", "7,0,255"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, "w7 w0 w255\n");
}

TEST(TextCommandErrors, ModelsWithoutTokenizer) {
  const std::string bare = StrCat(MOXIE_TEST_DATA, "/tiny/mixtral");
  EXPECT_EQ(Moxie({"tokenize", bare, "--text", "x"}).code, 1);
}

}  // namespace
}  // namespace moxie::cli
