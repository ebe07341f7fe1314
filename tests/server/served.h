// A server on a free port, before an engine on a scripted model.
//
// The vocabulary is 1000 letters and letters with a number; 'a' is id 0, so "hi" is two tokens and
// "abcde" five.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "server/server.h"
#include "tests/engine/harness.h"
#include "tests/engine/scripted_runner.h"
#include "tests/engine/test_tokenizer.h"
#include "tests/server/http_client.h"

namespace moxie::server {

using std::chrono::milliseconds;

inline runtime::StepLimits ServedLimits() {
  return {.max_tokens = 64,
          .max_seqs = 4,
          .max_rows = 4,
          .table_width = 16,
          .num_blocks = 64,
          .block_tokens = 4,
          .vocab_size = 1000};
}

inline engine::EngineOptions ServedEngineOptions() {
  engine::EngineOptions options;
  options.max_model_len = 64;
  options.max_queued_requests = 100;
  options.max_queued_tokens = 6400;
  options.max_request_heap = 16 << 20;
  options.max_logprobs = 20;
  options.seed = 1;
  return options;
}

// 'a', 'b', 'c', ... after any prompt, by the number of tokens so far.
inline engine::ScriptedRunner::Script AlphabetScript() {
  return [](std::span<const int32_t> history, std::span<float> logits) {
    logits[history.size() % 26] = 10.0f;
  };
}

// Holds the model at the start of each step while closed.
class StepGate {
 public:
  void Close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

struct ServedSetup {
  engine::ScriptedRunner::Script script = AlphabetScript();
  std::vector<std::string> pieces = engine::LetterPieces(1000);
  engine::EngineOptions engine = ServedEngineOptions();
  runtime::StepLimits step = ServedLimits();
  ServerOptions server;
  std::vector<std::string> names = {"m"};
  // Three tokens around each message's content: "hi" from a user is five. Empty: no template.
  std::string chat_template =
      "{% for m in messages %}{{ m.role[0] }}{{ m.content }}z{% endfor %}"
      "{% if add_generation_prompt %}a{% endif %}";
  bool trust_request_template = false;
  bool prompt_tokens_details = false;
  bool force_include_usage = false;
  milliseconds step_time{0};
  bool load = true;
};

class Served {
 public:
  explicit Served(ServedSetup given = {})
      : setup(std::move(given)),
        tokenizer(engine::PiecesTokenizer(setup.pieces)),
        runner(setup.step, setup.script) {
    runner.BeforeStep([this](int64_t) {
      gate.Pass();
      std::this_thread::sleep_for(setup.step_time);
    });
    auto engine_started = engine::Engine::Start(setup.engine, &runner, tokenizer.get());
    EXPECT_TRUE(engine_started.ok()) << engine_started.status().message();
    engine = std::move(*engine_started);
    auto started = Server::Start(setup.server);
    EXPECT_TRUE(started.ok()) << started.status().message();
    server = std::move(*started);
    if (setup.load) Load();
  }
  ~Served() { gate.Open(); }

  void Load() {
    api::ServedModel model;
    model.names = setup.names;
    model.root = "/models/m";
    model.created = 1700000000;
    model.max_model_len = setup.engine.max_model_len;
    model.engine = engine.get();
    model.tokenizer = tokenizer.get();
    model.trust_request_template = setup.trust_request_template;
    model.prompt_tokens_details = setup.prompt_tokens_details;
    model.force_include_usage = setup.force_include_usage;
    if (!setup.chat_template.empty()) {
      auto parsed = text::ChatTemplate::FromText(setup.chat_template, "test", {});
      EXPECT_TRUE(parsed.ok()) << parsed.status().message();
      chat_template = std::move(*parsed);
    }
    model.chat_template = &chat_template;
    server->Serve(std::move(model));
  }

  uint16_t port() const { return server->port(); }
  ClientReply Post(std::string_view body) { return Complete(port(), body); }
  ClientReply PostChat(std::string_view body) {
    return Request(port(), "POST", "/v1/chat/completions", body);
  }
  // After a test has done its worst: the server is there and a plain request works.
  void ExpectWell() {
    EXPECT_EQ(Request(port(), "GET", "/health").status, 200);
    const ClientReply reply = Post(R"({"prompt": "hi", "max_tokens": 2, "temperature": 0})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json().at("choices").at(0).at("text").as_string(), "cd");
  }
  // Waits until nothing runs, waits or holds a block.
  bool WaitUntilIdle(milliseconds limit = milliseconds(10'000)) const {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      const engine::EngineStats stats = engine->stats();
      if (stats.running == 0 && stats.waiting == 0 && stats.blocks_used == 0) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }

  const ServedSetup setup;
  const std::shared_ptr<const text::Tokenizer> tokenizer;
  text::ChatTemplate chat_template = text::ChatTemplate::None({});
  engine::ScriptedRunner runner;
  StepGate gate;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<Server> server;
};

}  // namespace moxie::server
