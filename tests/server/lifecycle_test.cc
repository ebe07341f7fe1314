// Start, load, drain, stop; clients that go away; an engine that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <string>
#include <vector>

#include "tests/server/case_file.h"
#include "tests/server/served.h"

namespace moxie::server {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

const std::string kLong =
    R"({"prompt": "hi", "max_tokens": 60, "ignore_eos": true, "temperature": 0, "stream": )";

TEST(Lifecycle, PortInUseIsOneLine) {
  Served served;
  ServerOptions options;
  options.port = served.port();
  auto second = Server::Start(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(),
              HasSubstr(StrCat("cannot listen on 127.0.0.1:", served.port(),
                               ": Address already in use; choose another --port")));
  EXPECT_EQ(second.status().message().find('\n'), std::string::npos);
}

TEST(Lifecycle, HostThatIsNoneOfOurs) {
  ServerOptions options;
  options.host = "192.0.2.1";
  EXPECT_THAT(Server::Start(options).status().message(), HasSubstr("cannot listen on 192.0.2.1:0"));
}

TEST(Lifecycle, AllInterfacesAndIpv6) {
  ServerOptions options;
  for (const char* host : {"", "0.0.0.0", "::1", "localhost"}) {
    options.host = host;
    EXPECT_TRUE(Server::Start(options).ok()) << host;
  }
}

TEST(Lifecycle, case_ops_health_while_loading) {
  ServedSetup setup;
  setup.load = false;
  Served served(std::move(setup));
  const uint16_t port = served.port();
  EXPECT_EQ(Request(port, "GET", "/health").status, 503);
  EXPECT_EQ(Request(port, "HEAD", "/health").status, 503);
  EXPECT_EQ(Request(port, "GET", "/live").status, 200);
  EXPECT_EQ(Request(port, "GET", "/metrics").status, 200);
  EXPECT_EQ(Request(port, "GET", "/v1/models").status, 503);
  const ClientReply refused = Complete(port, kLong + "false}");
  EXPECT_EQ(refused.status, 503);
  EXPECT_FALSE(refused.Header("Retry-After").empty());
  EXPECT_THAT(refused.body, HasSubstr("being loaded"));

  served.Load();
  served.ExpectWell();

  served.runner.FailAt(served.runner.steps() + 1);
  EXPECT_EQ(Complete(port, kLong + "false}").status, 500);
  EXPECT_EQ(Request(port, "GET", "/health").status, 503);
  EXPECT_EQ(Complete(port, kLong + "false}").status, 503);
  EXPECT_EQ(Request(port, "GET", "/live").status, 200);
  EXPECT_EQ(Request(port, "GET", "/metrics").status, 200);
}

TEST(Lifecycle, FailureInAStreamIsAnEventThenTheEnd) {
  Served served;
  served.runner.FailAt(3);
  const std::vector<Json> events = Events(served.Post(kLong + "true}").body);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().at("error").at("type").as_string(), "InternalServerError");
  EXPECT_EQ(events.back().at("error").at("code").as_int64(), 500);
}

TEST(Lifecycle, FullQueueIsRefusedWithItsNumbers) {
  ServedSetup setup;
  setup.step.max_seqs = 1;
  setup.step.max_rows = 1;
  setup.engine.max_queued_requests = 2;
  Served served(std::move(setup));
  served.gate.Close();
  std::vector<std::unique_ptr<Client>> waiting;
  ClientReply refused;
  for (int i = 0; i < 8 && refused.status == 0; ++i) {
    auto& client = waiting.emplace_back(std::make_unique<Client>(served.port()));
    client->Send(Client::Format("POST", "/v1/completions", kLong + "true}"));
    const ClientReply head = client->ReadHead();
    if (head.status != 200) refused = head;
  }
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  const ClientReply again = Complete(served.port(), kLong + "false}");
  EXPECT_EQ(again.status, 503);
  EXPECT_EQ(again.json().at("error").at("type").as_string(), "ServiceUnavailableError");
  EXPECT_THAT(again.body, HasSubstr("2"));
  EXPECT_EQ(Request(served.port(), "GET", "/health").status, 200) << "and health answers";
  served.gate.Open();
  waiting.clear();
  EXPECT_TRUE(served.WaitUntilIdle());
}

TEST(Lifecycle, case_mem_request_larger_than_pool) {
  ServedSetup setup;
  setup.engine.max_model_len = 2048;
  setup.engine.max_queued_tokens = 4096;
  setup.step = {.max_tokens = 2048,
                .max_seqs = 4,
                .max_rows = 4,
                .table_width = 128,
                .num_blocks = 49,
                .block_tokens = 16,
                .vocab_size = 1000};
  Served served(std::move(setup));
  const auto ask = [&](size_t prompt, int max_tokens) {
    return served.Post(StrCat("{\"prompt\": \"", std::string(prompt, 'a'),
                              "\", \"temperature\": 0, \"max_tokens\": ", max_tokens, "}"));
  };
  EXPECT_EQ(ask(700, 84).status, 200);
  const ClientReply larger = ask(700, 100);
  EXPECT_EQ(larger.status, 400);
  EXPECT_THAT(larger.body, testing::AllOf(HasSubstr("800"), HasSubstr("784")));
  EXPECT_EQ(ask(1010, 1).status, 400);
  EXPECT_EQ(ask(10, 5).status, 200);
}

// How a client goes away, and what it was doing.
void GoAway(Served& served, bool stream, bool reset) {
  Client client(served.port());
  client.Send(Client::Format("POST", "/v1/completions", kLong + (stream ? "true}" : "false}")));
  if (stream) {
    EXPECT_EQ(client.ReadHead().status, 200);
    std::string body;
    for (int i = 0; i < 3; ++i) client.ReadChunk(body);
  } else {
    while (served.engine->stats().running == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  if (reset) client.Reset();
}

TEST(Lifecycle, case_mem_disconnect_frees) {
  ServedSetup setup;
  setup.step_time = milliseconds(20);
  Served served(std::move(setup));
  int64_t gone = 0;
  for (bool stream : {true, false}) {
    for (bool reset : {false, true}) {
      GoAway(served, stream, reset);
      EXPECT_TRUE(served.WaitUntilIdle(milliseconds(1000))) << stream << reset;
      EXPECT_EQ(served.engine->stats().finished_abort, ++gone);
    }
  }
  EXPECT_EQ(served.engine->stats().finished_length, 0);
  served.ExpectWell();
  EXPECT_EQ(served.engine->stats().finished_abort, gone) << "a normal end is no abort";
}

TEST(Lifecycle, case_mem_disconnect_frees_in_the_queue) {
  ServedSetup setup;
  setup.step.max_seqs = 1;
  setup.step.max_rows = 1;
  setup.step_time = milliseconds(20);
  Served served(std::move(setup));
  Client running(served.port());
  running.Send(Client::Format("POST", "/v1/completions", kLong + "true}"));
  EXPECT_EQ(running.ReadHead().status, 200);
  {
    Client queued(served.port());
    queued.Send(Client::Format("POST", "/v1/completions", kLong + "false}"));
    while (served.engine->stats().waiting == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  const auto end = steady_clock::now() + seconds(2);
  while (served.engine->stats().waiting > 0 && steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(served.engine->stats().waiting, 0);
  EXPECT_EQ(served.engine->stats().running, 1);
}

TEST(Lifecycle, RequestTimeIsBounded) {
  ServedSetup setup;
  setup.server.limits.request = milliseconds(300);
  setup.step_time = milliseconds(50);
  Served served(std::move(setup));
  const ClientReply whole = served.Post(kLong + "false}");
  EXPECT_EQ(whole.status, 503);
  EXPECT_THAT(whole.body, HasSubstr("longer than the limit"));
  const std::vector<Json> events = Events(served.Post(kLong + "true}").body);
  EXPECT_THAT(DumpJson(events.back()), HasSubstr("longer than the limit"));
  EXPECT_TRUE(served.WaitUntilIdle());
}

TEST(Lifecycle, case_ops_sigterm_drain) {
  ServedSetup setup;
  setup.step.max_seqs = 2;
  setup.step.max_rows = 2;
  setup.step_time = milliseconds(10);
  Served served(std::move(setup));
  Client kept(served.port());
  EXPECT_EQ(kept.Do("GET", "/live").status, 200);
  served.server->CatchSignals();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(served.port()));
    clients.back()->Send(Client::Format("POST", "/v1/completions", kLong + "true}"));
    EXPECT_EQ(clients.back()->ReadHead().status, 200);
  }
  auto stopped = std::async(std::launch::async, [&] {
    served.server->WaitForSignal();
    served.server->Stop(seconds(20));
  });
  ::raise(SIGTERM);
  for (auto& client : clients) {
    std::string body;
    while (client->ReadChunk(body)) {
    }
    const std::vector<Json> events = Events(body);
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back().at("choices").at(0).at("finish_reason").as_string(), "length");
  }
  EXPECT_TRUE(kept.WaitForClose(seconds(5)));
  EXPECT_EQ(stopped.wait_for(seconds(20)), std::future_status::ready);
  EXPECT_FALSE(Client(served.port()).connected());
}

TEST(Lifecycle, case_ops_sigterm_drain_past_its_limit) {
  ServedSetup setup;
  setup.step_time = milliseconds(100);
  Served served(std::move(setup));
  Client client(served.port());
  client.Send(Client::Format("POST", "/v1/completions", kLong + "true}"));
  EXPECT_EQ(client.ReadHead().status, 200);
  const auto began = steady_clock::now();
  served.server->Stop(milliseconds(300));
  EXPECT_LT(steady_clock::now() - began, seconds(4));
  std::string body;
  while (client.ReadChunk(body)) {
  }
  const std::vector<Json> events = Events(body);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().at("error").at("code").as_int64(), 503);
}

TEST(Lifecycle, SecondSignalStopsAtOnce) {
  ServedSetup setup;
  setup.step_time = milliseconds(100);
  Served served(std::move(setup));
  Client client(served.port());
  client.Send(Client::Format("POST", "/v1/completions", kLong + "true}"));
  EXPECT_EQ(client.ReadHead().status, 200);
  served.server->CatchSignals();
  ::raise(SIGTERM);
  served.server->WaitForSignal();
  auto stopped =
      std::async(std::launch::async, [&] { served.server->Stop(std::chrono::minutes(5)); });
  std::this_thread::sleep_for(milliseconds(200));
  ::raise(SIGTERM);
  EXPECT_EQ(stopped.wait_for(seconds(4)), std::future_status::ready);
}

// A client that does not read must not make the server hold more than the answer, nor stop others.
TEST(Lifecycle, SlowReaderIsCutOff) {
  ServedSetup setup;
  setup.server.limits.write = milliseconds(300);
  setup.engine.max_model_len = 60000;
  setup.engine.max_queued_tokens = 60000;
  setup.step.table_width = 15000;
  setup.step.num_blocks = 16000;
  Served served(std::move(setup));
  Client slow(served.port());
  // Twenty alternatives a token: megabytes, more than the kernel's buffers take.
  slow.Send(Client::Format("POST", "/v1/completions",
                           R"({"prompt": "hi", "max_tokens": 20000, "temperature": 0,
                               "logprobs": 20, "stream": true})"));
  EXPECT_EQ(slow.ReadHead().status, 200);
  EXPECT_TRUE(served.WaitUntilIdle(milliseconds(60'000)));
  served.ExpectWell();
}

}  // namespace
}  // namespace moxie::server
