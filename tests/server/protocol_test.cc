// HTTP itself: framing, limits, errors, keys, and what a bad client can do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/case_file.h"
#include "tests/server/served.h"

namespace moxie::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kBody = R"({"prompt": "hi", "max_tokens": 2, "temperature": 0})";
const std::string kPost = "POST /v1/completions HTTP/1.1\r\nHost: t\r\n";

// The status of raw bytes on a connection of their own.
ClientReply Raw(const Served& served, const std::string& bytes) {
  Client client(served.port());
  client.Send(bytes);
  return client.ReadReply();
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

void ExpectError(const ClientReply& reply, int status) {
  EXPECT_EQ(reply.status, status) << reply.head << reply.body;
  EXPECT_EQ(reply.Header("Content-Type"), "application/json");
  const Json error = reply.json().at("error");
  EXPECT_FALSE(error.at("message").as_string().empty());
  EXPECT_FALSE(error.at("type").as_string().empty());
  EXPECT_EQ(error.at("code").as_int64(), status);
  EXPECT_TRUE(error.as_object().contains("param"));
}

TEST(Protocol, SmallEndpoints) {
  Served served;
  Client client(served.port());
  const ClientReply health = client.Do("GET", "/health");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, "");
  EXPECT_EQ(client.Do("POST", "/ping").status, 200);
  EXPECT_EQ(client.Do("GET", "/ping?x=1").status, 200);
  EXPECT_THAT(client.Do("GET", "/version").body, StartsWith("{\"version\":\""));
  EXPECT_EQ(client.Do("GET", "/load").body, "{\"server_load\":0}");
  EXPECT_EQ(client.Do("HEAD", "/health").status, 200);
  EXPECT_EQ(client.Do("HEAD", "/v1/models").status, 200);
  EXPECT_EQ(client.Do("GET", "/live").status, 200) << "all on one connection";
}

TEST(Protocol, UnknownPathsAndMethods) {
  Served served;
  Client client(served.port());
  ExpectError(client.Do("GET", "/v1/nothing"), 404);
  ExpectError(client.Do("GET", "/v1/models/"), 404);
  ExpectError(client.Do("GET", "//v1/models"), 404);
  const ClientReply reply = client.Do("GET", "/v1/completions");
  ExpectError(reply, 405);
  EXPECT_EQ(reply.Header("Allow"), "POST");
  EXPECT_EQ(client.Do("POST", "/health", "{}").Header("Allow"), "GET, HEAD");
}

TEST(Protocol, case_http_model_name) {
  ServedSetup setup;
  setup.names = {"big-moe", "alias-b"};
  Served served(std::move(setup));
  const std::tuple<std::string, int, std::string> bodies[] = {
      {R"("model": "big-moe", )", 200, "big-moe"},
      {R"("model": "alias-b", )", 200, "alias-b"},
      {R"("model": "other", )", 404, ""},
      {R"("model": "", )", 404, ""},
      {"", 200, "big-moe"},
      {R"("model": null, )", 200, "big-moe"},
      {R"("model": "BIG-MOE", )", 404, ""}};
  for (const auto& [model, status, name] : bodies) {
    for (const char* stream : {"false", "true"}) {
      const ClientReply reply =
          served.Post("{" + model + R"("prompt": "hi", "stream": )" + stream + "}");
      EXPECT_EQ(reply.status, status) << model;
      if (status == 404) {
        ExpectError(reply, 404);
        EXPECT_EQ(reply.json().at("error").at("param").as_string(), "model");
        EXPECT_THAT(reply.body, HasSubstr("`big-moe`, `alias-b`"));
      } else if (stream == std::string("false")) {
        EXPECT_EQ(reply.json().at("model").as_string(), name);
      }
    }
  }
  const Json list = Request(served.port(), "GET", "/v1/models").json();
  EXPECT_EQ(list.at("object").as_string(), "list");
  ASSERT_EQ(list.at("data").as_array().size(), 2u);
  EXPECT_EQ(list.at("data").at(1).at("id").as_string(), "alias-b");
  EXPECT_EQ(list.at("data").at(1).at("object").as_string(), "model");
  EXPECT_EQ(list.at("data").at(1).at("max_model_len").as_int64(), 64);
  EXPECT_EQ(Request(served.port(), "GET", "/v1/models/big-moe").status, 200);
  EXPECT_EQ(Request(served.port(), "GET", "/v1/models/other").status, 404);
}

TEST(Protocol, case_http_api_key) {
  ServedSetup setup;
  std::vector<std::string> log;
  std::mutex log_mutex;
  setup.server.api_keys = {"k-one", "k-two"};
  setup.server.access_log = [&](std::string_view line) {
    const std::lock_guard lock(log_mutex);
    log.emplace_back(line);
  };
  Served served(std::move(setup));
  const Json test_case = LoadCase("http-api-key");
  const JsonArray& requests = test_case.at("input").at("requests").as_array();
  const JsonArray& statuses = test_case.at("expected").at("status").as_array();
  for (size_t i = 0; i < requests.size(); ++i) {
    const Json* key = requests[i].as_object().if_contains("Authorization");
    const std::string fields =
        key == nullptr ? "" : StrCat("Authorization: ", std::string_view(key->as_string()), "\r\n");
    const std::string path(requests[i].at("path").as_string());
    const ClientReply reply = Request(served.port(), "GET", path, "", fields);
    if (!statuses[i].is_int64()) {
      EXPECT_EQ(reply.status, path == "/metrics" ? 200 : 404) << path;
      continue;
    }
    EXPECT_EQ(reply.status, statuses[i].as_int64()) << path << " " << fields;
    if (reply.status != 401) continue;
    ExpectError(reply, 401);
    EXPECT_EQ(reply.Header("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(reply.json().at("error").at("type").as_string(), "authentication_error");
    EXPECT_EQ(reply.body.find("k-o"), std::string::npos);
  }
  EXPECT_EQ(Request(served.port(), "GET", "/v1/nothing").status, 401);
  served.server->Stop(milliseconds(0));
  EXPECT_GE(log.size(), requests.size());
  for (const std::string& line : log) EXPECT_EQ(line.find("k-"), std::string::npos) << line;
}

TEST(Protocol, case_http_invalid_json) {
  Served served;
  const Json test_case = LoadCase("http-invalid-json");
  for (const Json& body : test_case.at("input").at("raw_bodies_hex").as_array()) {
    const std::string name(body.at("name").as_string());
    std::string bytes = FromHex(std::string_view(body.at("hex").as_string()));
    const std::string messages = R"("messages":[{"role":"user","content":)";
    if (const size_t at = bytes.find(messages); at != std::string::npos) {
      bytes.replace(at, messages.size(), "\"prompt\":");
      if (const size_t end = bytes.find("}]"); end != std::string::npos) bytes.erase(end, 2);
    }
    const ClientReply reply = served.Post(bytes);
    const Json& expected = test_case.at("expected").at("status").at(name);
    if (expected.is_int64()) {
      ExpectError(reply, 400);
      EXPECT_TRUE(reply.json().at("error").at("param").is_null());
      EXPECT_THAT(reply.body, HasSubstr("line 1, column "));
    } else if (name == "NUL in text") {
      // "a", NUL, "b": NUL is in no piece of this vocabulary, but the "b" behind it is.
      EXPECT_EQ(reply.status, 200) << reply.body;
      EXPECT_GE(reply.json().at("usage").at("prompt_tokens").as_int64(), 2);
    } else {
      EXPECT_TRUE(reply.status == 200 || reply.status == 400) << name << reply.status;
    }
    served.ExpectWell();
  }
}

TEST(Protocol, case_http_wrong_types) {
  Served served;
  const Json test_case = LoadCase("http-wrong-types");
  const JsonArray& bodies = test_case.at("input").at("raw_bodies").as_array();
  const JsonArray& params = test_case.at("expected").at("param").as_array();
  for (size_t i = 0; i < bodies.size(); ++i) {
    const std::string body(bodies[i].as_string());
    const ClientReply chat = served.PostChat(body);
    ExpectError(chat, 400);
    const Json param = chat.json().at("error").at("param");
    if (params[i].is_null()) {
      EXPECT_TRUE(param.is_null()) << body;
    } else {
      EXPECT_THAT(DumpJson(param), StartsWith("\"" + std::string(params[i].as_string()))) << body;
    }
    if (body.find("\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]") == std::string::npos)
      continue;
    if (body.find("tools") != std::string::npos) continue;
    const ClientReply reply = served.Post(AsCompletion(body));
    ExpectError(reply, 400);
    EXPECT_EQ(reply.json().at("error").at("param"), params[i]) << body;
  }
  for (const char* prompt : {"7", "{}", "true", "[true]", "[[\"a\"]]", "[{}]"}) {
    const ClientReply reply = served.Post(StrCat("{\"prompt\": ", prompt, "}"));
    ExpectError(reply, 400);
    EXPECT_THAT(DumpJson(reply.json().at("error").at("param")), StartsWith("\"prompt")) << prompt;
  }
  served.ExpectWell();
}

TEST(Protocol, case_http_deep_nesting) {
  Served served;
  for (size_t depth : {64, 1000, 3000, 10000, 100000}) {
    const std::string open(depth, '[');
    const std::string close(depth, ']');
    const auto began = std::chrono::steady_clock::now();
    const std::string bodies[] = {
        R"({"prompt": "hi", "zzz": )" + open + "1" + close + "}",
        R"({"prompt": )" + open + close + "}",
        R"({"prompt": "hi", "stream_options": )" + open + close + "}",
        open,
    };
    for (size_t i = 0; i < std::size(bodies); ++i) {
      const ClientReply reply = served.Post(bodies[i]);
      EXPECT_EQ(reply.status, i == 0 && depth == 64 ? 200 : 400) << depth << " body " << i;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4));
    served.ExpectWell();
  }
}

TEST(Protocol, case_http_chunked_request) {
  ServedSetup setup;
  setup.server.limits.read = milliseconds(300);
  Served served(std::move(setup));
  const std::string head =
      kPost + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto chunk = [](std::string_view size, std::string_view data) {
    return StrCat(size, "\r\n", data, "\r\n");
  };
  const std::string whole = chunk("33", kBody) + "0\r\n\r\n";
  ASSERT_EQ(kBody.size(), 0x33u);
  std::string bytewise, split = chunk("0A;x=y", kBody.substr(0, 10));
  for (char c : kBody) bytewise += chunk("1", std::string_view(&c, 1));
  split += chunk("29", kBody.substr(10)) + "0\r\n\r\n";
  const std::string with_break = "{\r\n" + kBody.substr(1);
  const std::pair<std::string, int> wires[] = {
      {whole, 200},
      {bytewise + "0\r\n\r\n", 200},
      {split, 200},
      {chunk("33", kBody) + "0\r\nX-Trailer: 1\r\n\r\n", 200},
      {chunk("35", with_break) + "0\r\n\r\n", 200},
      {chunk("zz", kBody), 400},
      {"33\r\n" + kBody + "XX0\r\n\r\n", 400},
      {chunk("ffffffffffffffff", kBody), 413},
      {chunk("fffffffffffffffff", kBody), 400},
  };
  for (const auto& [wire, status] : wires) {
    const ClientReply reply = Raw(served, head + wire);
    EXPECT_EQ(reply.status, status) << wire << reply.body;
    if (status == 200) {
      EXPECT_THAT(reply.body, HasSubstr("\"text\":\"cd\""));
    }
  }
  Client unfinished(served.port());
  unfinished.Send(head + "5\r\nab");
  EXPECT_TRUE(unfinished.WaitForClose(milliseconds(5000)));
  served.ExpectWell();
}

TEST(Protocol, case_http_chunked_request_expect_100_continue) {
  Served served;
  Client client(served.port());
  client.Send(kPost + "Content-Length: 51\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadHead().status, 100);
  client.Send(kBody);
  EXPECT_EQ(client.ReadReply().status, 200);
}

// Else the body, of which we do not know the end, would be read as the next request.
TEST(Protocol, OtherTransferCodingsEndTheConnection) {
  Served served;
  for (const char* coding : {"gzip", "gzip, chunked", "identity"}) {
    const ClientReply reply = Raw(served, StrCat(kPost, "Transfer-Encoding: ", coding,
                                                 "\r\n\r\nGET /version HTTP/1.1\r\n\r\n"));
    ExpectError(reply, 501);
    EXPECT_EQ(reply.Header("Connection"), "close") << coding;
  }
  const ClientReply upper =
      Raw(served, kPost + "Content-Type: application/json\r\nTransfer-Encoding: Chunked\r\n\r\n" +
                      "33\r\n" + kBody + "\r\n0\r\n\r\n");
  EXPECT_EQ(upper.status, 200);
}

// RFC 9112, 3.2.2: a server takes the absolute form as well; a key guards both.
TEST(Protocol, TargetsMayNameTheHost) {
  ServedSetup setup;
  setup.server.api_keys = {"key"};
  Served served(std::move(setup));
  Client client(served.port());
  EXPECT_EQ(client.Do("GET", "http://t:1/health?x=1").status, 200);
  ExpectError(client.Do("GET", "http://t/v1/models"), 401);
  ExpectError(client.Do("GET", "http://t"), 404);
}

TEST(Protocol, PipelinedRequestsAreAnsweredInOrder) {
  Served served;
  Client client(served.port());
  client.Send(Client::Format("GET", "/version", "") +
              Client::Format("POST", "/v1/completions", kBody) +
              Client::Format("GET", "/load", ""));
  EXPECT_THAT(client.ReadReply().body, HasSubstr("version"));
  EXPECT_THAT(client.ReadReply().body, HasSubstr("\"text\":\"cd\""));
  EXPECT_THAT(client.ReadReply().body, HasSubstr("server_load"));
}

TEST(Protocol, OldClientsGetAnEndInsteadOfChunks) {
  Served served;
  const std::string body = R"({"prompt": "hi", "max_tokens": 2, "temperature": 0, "stream": true})";
  const ClientReply reply = Raw(
      served,
      StrCat("POST /v1/completions HTTP/1.0\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("Transfer-Encoding"), "");
  EXPECT_FALSE(Events(reply.body).empty());
}

TEST(Protocol, LimitsAreKept) {
  ServedSetup setup;
  setup.server.limits.header_bytes = 2000;
  setup.server.limits.header_fields = 10;
  setup.server.limits.body_bytes = 1000;
  Served served(std::move(setup));
  ExpectError(Raw(served, "GET /health HTTP/1.1\r\nX: " + std::string(3000, 'x') + "\r\n\r\n"),
              431);
  std::string many = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < 11; ++i) many += StrCat("X-", i, ": 1\r\n");
  ExpectError(Raw(served, many + "\r\n"), 431);
  ExpectError(served.Post("{\"prompt\": \"" + std::string(2000, 'a') + "\"}"), 413);
  ExpectError(Raw(served, kPost + "Content-Length: 99999999999999999999999\r\n\r\n"), 400);
  ExpectError(Raw(served, "NONSENSE\r\n\r\n"), 400);
  served.ExpectWell();
}

TEST(Protocol, BodiesShareAPool) {
  ServedSetup setup;
  setup.server.limits.body_pool_bytes = 100;
  Served served(std::move(setup));
  Client holder(served.port());
  holder.Send(kPost + "Content-Length: 80\r\n\r\n{");
  ClientReply reply;
  do {  // until the server has seen the holder's fields
    reply = served.Post(kBody);
  } while (reply.status == 200);
  ExpectError(reply, 503);
  EXPECT_EQ(reply.Header("Retry-After"), "1");
  holder.Close();
  do {
    reply = served.Post(kBody);
  } while (reply.status == 503);
  EXPECT_EQ(reply.status, 200);
}

TEST(Protocol, ConnectionsAreCounted) {
  ServedSetup setup;
  setup.server.limits.connections = 2;
  Served served(std::move(setup));
  {
    Client one(served.port()), two(served.port()), three(served.port());
    EXPECT_EQ(one.Do("GET", "/live").status, 200);
    EXPECT_EQ(two.Do("GET", "/live").status, 200);
    const ClientReply full = three.ReadReply();
    ExpectError(full, 503);
  }
  ClientReply reply;
  for (int i = 0; i < 100 && reply.status != 200; ++i)
    reply = Request(served.port(), "GET", "/live");
  EXPECT_EQ(reply.status, 200);
}

TEST(Protocol, IdleConnectionsAreClosed) {
  ServedSetup setup;
  setup.server.limits.idle = milliseconds(200);
  Served served(std::move(setup));
  Client silent(served.port());
  EXPECT_TRUE(silent.WaitForClose(milliseconds(5000)));
  Client kept(served.port());
  EXPECT_EQ(kept.Do("GET", "/live").status, 200);
  EXPECT_TRUE(kept.WaitForClose(milliseconds(5000)));
}

TEST(Protocol, OtherContentTypesAreRefused) {
  Served served;
  const auto with_type = [&](std::string_view type) {
    return Raw(served, StrCat(kPost, "Content-Type: ", type, "\r\nContent-Length: ", kBody.size(),
                              "\r\n\r\n", kBody))
        .status;
  };
  EXPECT_EQ(with_type("application/json; charset=utf-8"), 200);
  EXPECT_EQ(with_type("Application/JSON"), 200);
  EXPECT_EQ(with_type("text/plain"), 400);
  EXPECT_EQ(with_type("application/x-www-form-urlencoded"), 400);
}

TEST(Protocol, TokenizeAndBack) {
  Served served;
  const ClientReply ids = Request(served.port(), "POST", "/tokenize",
                                  R"({"prompt": "abc", "return_token_strs": true})");
  EXPECT_EQ(ids.body,
            R"({"count":3,"max_model_len":64,"tokens":[0,1,2],"token_strs":["a","b","c"]})");
  EXPECT_EQ(Request(served.port(), "POST", "/detokenize", R"({"tokens": [0, 1, 2]})").body,
            R"({"prompt":"abc"})");
  ExpectError(Request(served.port(), "POST", "/detokenize", R"({"tokens": [1000]})"), 400);
  ExpectError(Request(served.port(), "POST", "/tokenize", "{"), 400);
}

}  // namespace
}  // namespace moxie::server
