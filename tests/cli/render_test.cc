#include "cli/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/exit.h"

namespace moxie::cli {
namespace {

using Answer = std::pair<int, std::string>;

class RenderCommand : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/render_test_" +
           testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(dir_);
    Write("tokenizer_config.json",
          R"({"bos_token": "<s>", "chat_template": "{{ bos_token }}{% for m in messages %}[{{ m.role
             }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}"})");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void Write(const std::string& name, std::string_view text) {
    std::string line(text);
    std::erase(line, '\n');
    std::ofstream(dir_ + "/" + name) << line;
  }
  // Exit code and standard output.
  Answer Run(std::vector<std::string> args) {
    testing::internal::CaptureStdout();
    int code = Render(args);
    return {code, testing::internal::GetCapturedStdout()};
  }
  std::string dir_;
};

TEST_F(RenderCommand, PrintsThePromptOfAListOfMessages) {
  Write("m.json", R"([{"role": "user", "content": "hi"}])");
  EXPECT_EQ(Run({"--tokenizer", dir_, dir_ + "/m.json"}), Answer(kOk, "<s>[user]hi>"));
}

TEST_F(RenderCommand, TakesAChatRequestAndShowsWhereWordsComeFrom) {
  Write("r.json",
        R"({"messages": [{"role": "user", "content": "<s>"}], "add_generation_prompt": false})");
  EXPECT_EQ(Run({"--model", dir_, "--json", dir_ + "/r.json"}),
            Answer(kOk, R"([{"text":"<s>[user]","from_template":true},)"
                        R"({"text":"<s>","from_template":false}])"
                        "\n"));
}

TEST_F(RenderCommand, ATokenizersFileFindsWhatLiesBesideIt) {
  Write("tokenizer.json", "{}");
  Write("m.json", R"([{"role": "user", "content": "hi"}])");
  EXPECT_EQ(Run({"--tokenizer", dir_ + "/tokenizer.json", dir_ + "/m.json"}),
            Answer(kOk, "<s>[user]hi>"));
}

TEST_F(RenderCommand, AGivenTemplateNeedsNoModel) {
  Write("m.json", R"([{"role": "user", "content": "hi"}])");
  EXPECT_EQ(Run({"--chat-template", "{{ messages|length }}", dir_ + "/m.json"}), Answer(kOk, "1"));
}

TEST_F(RenderCommand, WrongUsageAndBadInputAreTold) {
  EXPECT_EQ(Run({}).first, kUsage);
  EXPECT_EQ(Run({"--tokenizer", dir_, "--nosuch"}).first, kUsage);
  EXPECT_EQ(Run({"--tokenizer"}).first, kUsage);
  Write("bad.json", "[{]");
  EXPECT_EQ(Run({"--tokenizer", dir_, dir_ + "/bad.json"}).first, kFailed);
  EXPECT_THAT(Run({"--help"}).second, testing::HasSubstr("usage: moxie render"));
}

}  // namespace
}  // namespace moxie::cli
