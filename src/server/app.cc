#include "server/app.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "api/fields.h"
#include "api/tokenize.h"
#include "base/version.h"
#include "server/auth.h"
#include "server/metrics.h"

namespace moxie::server {
namespace {

constexpr JsonLimits kBodyLimits = {.max_depth = 128, .max_bytes = size_t{1} << 30};

constexpr unsigned kGet = 1;
constexpr unsigned kPost = 2;

// HEAD is answered as GET, without the body.
unsigned MethodBit(std::string_view method) {
  if (method == "GET" || method == "HEAD") return kGet;
  return method == "POST" ? kPost : 0;
}

std::string AllowHeader(unsigned methods) {
  std::string allow = methods & kGet ? "GET, HEAD" : "";
  if (methods & kPost) allow += allow.empty() ? "POST" : ", POST";
  return allow;
}

HttpReply EmptyReply(int status) {
  HttpReply reply;
  reply.status = status;
  reply.content_type = "text/plain; charset=utf-8";
  return reply;
}

HttpReply ReplyOf(const Result<JsonObject>& json) {
  return json.ok() ? JsonReply(*json) : ErrorReply(api::ErrorOf(json.status()));
}

// A browser may send other types across sites without asking first.
bool IsJsonType(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::ranges::transform(type, type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return type.empty() || type == "application/json" || type.ends_with("+json");
}

// The prefix and 32 hexadecimal digits.
std::string NewRequestId(std::string_view prefix) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(prefix);
  for (int i = 0; i < 32; ++i) id += "0123456789abcdef"[random() & 15];
  return id;
}

int64_t UnixTime() {
  using std::chrono::system_clock;
  return system_clock::to_time_t(system_clock::now());
}

}  // namespace

// With `under`, the path is a prefix of a name. A route with a parser generates; one has either.
struct App::Route {
  std::string_view path;
  unsigned methods;
  bool needs_model;
  HttpReply (App::*answer)(const HttpRequest&) const;
  bool under = false;
  Result<api::Body> (*parse)(const Json&, const engine::SamplingParams&) = nullptr;
};

constexpr App::Route App::kRoutes[] = {
    {"/live", kGet, false, &App::Live},
    {"/health", kGet, false, &App::Health},
    {"/ping", kGet | kPost, false, &App::Health},
    {"/version", kGet, false, &App::GetVersion},
    {"/load", kGet, false, &App::Load},
    {"/metrics", kGet, false, &App::Metrics},
    {"/v1/models", kGet, true, &App::Models},
    {"/v1/models/", kGet, true, &App::OneModel, true},
    {"/v1/completions", kPost, true, nullptr, false, api::ParseCompletion},
    {"/v1/chat/completions", kPost, true, nullptr, false, api::ParseChat},
    {"/tokenize", kPost, true, &App::Tokenize},
    {"/detokenize", kPost, true, &App::Detokenize},
};

const App::Route* App::FindRoute(std::string_view path) {
  const Route* row = std::ranges::find_if(kRoutes, [&](const Route& route) {
    return route.under ? path.starts_with(route.path) && path.size() > route.path.size()
                       : path == route.path;
  });
  return row == std::end(kRoutes) ? nullptr : row;
}

void App::Serve(api::ServedModel model) {
  model_ = std::move(model);
  ready_.store(&model_);
}

Status App::Readiness() const {
  if (draining_) return Unavailable("the server is shutting down");
  if (model() == nullptr) return Unavailable("the model is being loaded");
  return model()->engine->health();
}

bool App::Generates(const HttpRequest& request) const {
  const Route* route = FindRoute(request.path());
  return route != nullptr && route->parse != nullptr;
}

std::optional<HttpReply> App::Check(const HttpRequest& request) const {
  if (auto preflight = cors_.Preflight(request)) return preflight;
  // vLLM lets OPTIONS pass without a key: it does nothing.
  if (request.method != "OPTIONS" && !options_.api_keys.empty() && IsGuarded(request.path()) &&
      !Authorized(request.authorization, options_.api_keys)) {
    HttpReply reply = ErrorReply(
        {401, "authentication_error", "a valid API key is needed: Authorization: Bearer KEY", ""});
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    return reply;
  }
  const Route* route = FindRoute(request.path());
  if (route == nullptr) return ErrorReply(api::HttpError(404, "Not Found"));
  const unsigned method = MethodBit(request.method);
  if ((route->methods & method) == 0) {
    HttpReply reply = ErrorReply(api::HttpError(405, "Method Not Allowed"));
    reply.headers.emplace_back("Allow", AllowHeader(route->methods));
    return reply;
  }
  if (route->needs_model) {
    const Status ready = Readiness();
    // A broken engine is the server's fault, but another server may be well: 503.
    if (!ready.ok()) return ErrorReply(api::ErrorOf(Unavailable(ready.message())));
  }
  if (method == kPost && route->needs_model && !IsJsonType(request.content_type)) {
    return ErrorReply(api::ErrorOf(InvalidArgument("content-type: expected application/json, got ",
                                                   request.content_type.substr(0, 128))));
  }
  return std::nullopt;
}

HttpReply App::Answer(const HttpRequest& request) const {
  return (this->*FindRoute(request.path())->answer)(request);
}

Result<std::unique_ptr<api::Generation>> App::StartGeneration(
    const HttpRequest& request, const engine::TokenStream::Wake& wake) {
  MOXIE_ASSIGN_OR_RETURN(const Json json, ParseJson(request.body, kBodyLimits));
  const auto parse = FindRoute(request.path())->parse;
  MOXIE_ASSIGN_OR_RETURN(api::Body body, parse(json, model_.defaults));
  std::string id = NewRequestId(body.format->id_prefix);
  auto generation =
      api::Generation::Start(model_, std::move(body), std::move(id), UnixTime(), wake);
  if (generation.ok()) ++generating_;
  return generation;
}

HttpReply App::Live(const HttpRequest&) const { return EmptyReply(200); }

HttpReply App::Health(const HttpRequest&) const {
  const Status ready = Readiness();
  if (ready.ok()) return EmptyReply(200);
  return ErrorReply(api::ErrorOf(Unavailable(ready.message())));
}

HttpReply App::GetVersion(const HttpRequest&) const {
  return JsonReply({{"version", std::string(Version())}});
}

HttpReply App::Load(const HttpRequest&) const {
  return JsonReply({{"server_load", generating_.load()}});
}

HttpReply App::Metrics(const HttpRequest&) const {
  HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  if (const api::ServedModel* served = model()) {
    reply.body = MetricsText(served->engine->stats(), served->names.front());
  }
  return reply;
}

HttpReply App::Models(const HttpRequest&) const { return JsonReply(api::ModelList(model_)); }

HttpReply App::OneModel(const HttpRequest& request) const {
  const std::string_view prefix = FindRoute(request.path())->path;
  return ReplyOf(api::ModelCard(model_, std::string(request.path().substr(prefix.size()))));
}

HttpReply App::Tokenize(const HttpRequest& request) const {
  auto json = ParseJson(request.body, kBodyLimits);
  return ReplyOf(json.ok() ? api::Tokenize(model_, *json) : json.status());
}

HttpReply App::Detokenize(const HttpRequest& request) const {
  auto json = ParseJson(request.body, kBodyLimits);
  return ReplyOf(json.ok() ? api::Detokenize(model_, *json) : json.status());
}

}  // namespace moxie::server
