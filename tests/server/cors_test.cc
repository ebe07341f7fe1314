// CORS: what browsers are told of pages of other origins.
#include "server/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/case_file.h"
#include "tests/server/served.h"

namespace moxie::server {
namespace {

using testing::HasSubstr;

const std::string kOrigin = "Access-Control-Allow-Origin";
const std::string kBody = R"({"prompt": "hi", "max_tokens": 2, "temperature": 0, "stream": )";

ServedSetup With(std::vector<std::string> origins, bool credentials = false) {
  ServedSetup setup;
  setup.server.cors.origins = std::move(origins);
  setup.server.cors.credentials = credentials;
  return setup;
}

std::string PreflightFields(std::string_view origin, std::string_view method = "POST",
                            std::string_view headers = "") {
  return StrCat("Origin: ", origin, "\r\nAccess-Control-Request-Method: ", method, "\r\n",
                headers.empty() ? "" : StrCat("Access-Control-Request-Headers: ", headers, "\r\n"));
}

ClientReply Preflight(const Served& served, const std::string& fields) {
  return Request(served.port(), "OPTIONS", "/v1/chat/completions", "", fields);
}

TEST(Cors, case_http_cors_preflight) {
  const Json test_case = LoadCase("http-cors-preflight");
  const Json& input = test_case.at("input");
  const JsonArray& rows = test_case.at("expected").at("rows").as_array();
  const auto text = [](const Json& json, std::string_view name) {
    const Json* value = json.as_object().if_contains(name);
    return value == nullptr || value->is_null() ? std::string() : std::string(value->as_string());
  };
  ServedSetup setup = With({std::string(input.at("allowed_origins").at(0).as_string())});
  setup.server.api_keys = {text(input, "api_key")};
  Served served(std::move(setup));
  const JsonArray& requests = input.at("requests").as_array();
  ASSERT_EQ(requests.size(), rows.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    std::string fields;
    for (const char* name :
         {"Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"}) {
      const std::string value = text(requests[i], name);
      if (!value.empty()) fields += StrCat(name, ": ", value, "\r\n");
    }
    const std::string key = text(requests[i], "key");
    if (!key.empty()) fields += StrCat("Authorization: Bearer ", key, "\r\n");
    const ClientReply reply =
        Request(served.port(), text(requests[i], "method"), "/v1/chat/completions",
                R"({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2})", fields);
    const JsonObject& row = rows[i].as_object();
    if (const Json* status = row.if_contains("status")) {
      EXPECT_EQ(reply.status, status->is_int64() ? status->as_int64() : 200) << i;
    }
    if (row.contains(kOrigin)) {
      const std::string origin = text(rows[i], kOrigin);
      EXPECT_EQ(reply.Header(kOrigin), origin == "absent" ? "" : origin) << i;
    }
    if (i == 0) {
      EXPECT_THAT(reply.Header("Access-Control-Allow-Methods"), HasSubstr("POST"));
      EXPECT_THAT(reply.Header("Access-Control-Allow-Headers"),
                  testing::AllOf(HasSubstr("authorization"), HasSubstr("content-type")));
    }
    EXPECT_EQ(reply.Header("Access-Control-Allow-Credentials"), "") << i;
    EXPECT_EQ(reply.Header("Vary"), text(requests[i], "Origin").empty() ? "" : "Origin") << i;
  }
}

TEST(Cors, NobodyIsAllowedByDefault) {
  Served served;
  const ClientReply refused = Preflight(served, PreflightFields("http://ui.example"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body, "Disallowed CORS origin");
  EXPECT_EQ(refused.Header(kOrigin), "");
  EXPECT_EQ(Request(served.port(), "GET", "/version", "", "Origin: http://a\r\n").Header(kOrigin),
            "");
}

TEST(Cors, AnybodyWithAStar) {
  Served served(With({"*"}));
  const ClientReply preflight =
      Preflight(served, PreflightFields("http://a", "GET", "X-One, x-two"));
  EXPECT_EQ(preflight.status, 200);
  EXPECT_EQ(preflight.body, "OK");
  EXPECT_EQ(preflight.Header(kOrigin), "*");
  EXPECT_EQ(preflight.Header("Access-Control-Allow-Headers"), "X-One, x-two");
  EXPECT_EQ(preflight.Header("Access-Control-Max-Age"), "600");
  const auto get = [&](const std::string& fields) {
    return Request(served.port(), "GET", "/version", "", "Origin: http://a\r\n" + fields);
  };
  EXPECT_EQ(get("").Header(kOrigin), "*");
  EXPECT_EQ(get("Cookie: a=b\r\n").Header(kOrigin), "http://a");
}

// Starlette's way: who allows everybody and credentials has allowed everybody's credentials.
TEST(Cors, CredentialsNameTheOrigin) {
  Served everybody(With({"*"}, true));
  const ClientReply preflight = Preflight(everybody, PreflightFields("http://a"));
  EXPECT_EQ(preflight.Header(kOrigin), "http://a");
  EXPECT_EQ(preflight.Header("Access-Control-Allow-Credentials"), "true");
  EXPECT_EQ(preflight.Header("Vary"), "Origin");

  Served one(With({"http://a"}, true));
  const ClientReply foreign = Preflight(one, PreflightFields("http://b"));
  EXPECT_EQ(foreign.status, 400);
  EXPECT_EQ(foreign.Header(kOrigin), "");
  const ClientReply simple = Request(one.port(), "GET", "/version", "", "Origin: http://a\r\n");
  EXPECT_EQ(simple.Header(kOrigin), "http://a");
  EXPECT_EQ(simple.Header("Access-Control-Allow-Credentials"), "true");
}

TEST(Cors, MethodsAndHeadersCanBeNamed) {
  ServedSetup setup = With({"http://a"});
  setup.server.cors.methods = {"GET"};
  setup.server.cors.headers = {"X-Mine"};
  Served served(std::move(setup));
  const ClientReply good = Preflight(served, PreflightFields("http://a", "GET", "x-mine, accept"));
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(good.Header("Access-Control-Allow-Methods"), "GET");
  EXPECT_EQ(good.Header("Access-Control-Allow-Headers"),
            "Accept, Accept-Language, Content-Language, Content-Type, X-Mine");
  EXPECT_EQ(Preflight(served, PreflightFields("http://a", "POST", "authorization")).body,
            "Disallowed CORS method, headers");
}

TEST(Cors, ErrorsAndStreamsCarryItToo) {
  ServedSetup setup = With({"http://a"});
  setup.server.limits.body_bytes = 1000;
  Served served(std::move(setup));
  const std::string origin = "Origin: http://a\r\n";
  const auto post = [&](const std::string& body) {
    return Request(served.port(), "POST", "/v1/completions", body, origin);
  };
  const ClientReply stream = post(kBody + "true}");
  EXPECT_EQ(stream.Header("Content-Type"), "text/event-stream; charset=utf-8");
  const ClientReply replies[] = {
      stream, post("{"), Request(served.port(), "GET", "/nowhere", "", origin),
      Request(served.port(), "DELETE", "/version", "", origin),
      post("{\"prompt\": \"" + std::string(2000, 'a') + "\"}")};  // not read to its end
  const int statuses[] = {200, 400, 404, 405, 413};
  for (size_t i = 0; i < std::size(replies); ++i) {
    EXPECT_EQ(replies[i].status, statuses[i]);
    EXPECT_EQ(replies[i].Header(kOrigin), "http://a") << statuses[i];
  }
}

// A preflight of a server that loads: the page gets to read its 503.
TEST(Cors, OptionsIsNoPreflightWithoutItsFields) {
  ServedSetup setup = With({"http://a"});
  setup.server.api_keys = {"key"};
  setup.load = false;
  Served served(std::move(setup));
  EXPECT_EQ(Preflight(served, PreflightFields("http://a")).status, 200);
  const ClientReply plain = Preflight(served, "Origin: http://a\r\n");
  EXPECT_EQ(plain.status, 405);
  EXPECT_EQ(plain.Header("Allow"), "POST");
}

}  // namespace
}  // namespace moxie::server
