#include "engine/token_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace moxie::engine {
namespace {

using testing::ElementsAre;

Request Prompt() {
  Request request;
  request.prompt_ids = {1, 2};
  request.sampling.stop = {"a stop string that is too long for a small string"};
  return request;
}

TEST(TokenStream, ReadsGiveTheNewsSinceTheLast) {
  TokenStream stream(7, Prompt(), 4, 100, nullptr);
  stream.Reserve();
  TokenEvent event;
  EXPECT_FALSE(stream.Read(event));
  stream.AppendText("ab");
  stream.PublishToken(10, 1);  // "b" is held back
  stream.PublishToken(11, 2);
  ASSERT_TRUE(stream.Read(event));
  EXPECT_THAT(event.token_ids, ElementsAre(10, 11));
  EXPECT_EQ(event.text, "ab");
  EXPECT_EQ(event.finish, FinishReason::kNone);
  EXPECT_EQ(event.prompt_tokens, 2);
  EXPECT_FALSE(stream.Read(event));
  EXPECT_EQ(stream.text_end(0), 1);

  stream.AppendText("cd");
  stream.PublishToken(12, 3);
  std::string stop = "a stop string that is too long for a small string";
  stream.Finish(FinishReason::kStop, std::string_view(stop), 3, {});
  stop.assign(stop.size(), 'x');
  ASSERT_TRUE(stream.Read(event));
  EXPECT_THAT(event.token_ids, ElementsAre(12));
  EXPECT_EQ(event.first_token, 2);
  EXPECT_EQ(event.text, "c");
  EXPECT_EQ(event.completion_tokens, 3);
  EXPECT_EQ(event.finish, FinishReason::kStop);
  EXPECT_EQ(std::get<std::string_view>(event.stop_reason),
            "a stop string that is too long for a small string");
  EXPECT_FALSE(stream.Read(event)) << "nothing follows the end";
}

TEST(TokenStream, WakesOnceBetweenTwoReads) {
  int wakes = 0;
  TokenStream stream(1, Prompt(), 8, 8, [&] { ++wakes; });
  stream.Reserve();
  for (int32_t i = 0; i < 4; ++i) {
    stream.PublishToken(i, 0);
    stream.Notify();
  }
  EXPECT_EQ(wakes, 1);
  TokenEvent event;
  ASSERT_TRUE(stream.Read(event));
  EXPECT_FALSE(stream.Read(event));
  stream.PublishToken(5, 0);
  stream.Notify();
  EXPECT_EQ(wakes, 2);
}

TEST(TokenStream, AReaderOnItsOwnThreadSeesEveryTokenOnceAndInOrder) {
  constexpr int32_t kTokens = 20000;
  TokenStream stream(1, Prompt(), kTokens, kTokens, nullptr);
  stream.Reserve();
  std::thread writer([&] {
    for (int32_t i = 0; i < kTokens; ++i) {
      stream.AppendText("x");
      stream.PublishToken(i, i + 1);
      stream.Notify();
    }
    stream.Finish(FinishReason::kLength, {}, kTokens, {});
    stream.Notify();
  });
  int32_t next = 0;
  size_t text = 0;
  for (TokenEvent event; event.finish == FinishReason::kNone;) {
    event = stream.WaitAndRead();
    for (int32_t id : event.token_ids) EXPECT_EQ(id, next++);
    text += event.text.size();
  }
  writer.join();
  EXPECT_EQ(next, kTokens);
  EXPECT_EQ(text, static_cast<size_t>(kTokens));
}

}  // namespace
}  // namespace moxie::engine
