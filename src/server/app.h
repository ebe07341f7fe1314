// App: what the server answers, without sockets. A table of routes: one row a path.
//
// Thread-safe: any thread may answer any request.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/generation.h"
#include "api/served_model.h"
#include "base/status.h"
#include "server/cors.h"
#include "server/http.h"
#include "server/options.h"

namespace moxie::server {

class App {
 public:
  explicit App(const ServerOptions& options) : options_(options), cors_(options.cors) {}

  // The model is there. Call it once.
  void Serve(api::ServedModel model);
  // No more generating requests.
  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }
  // Null while there is no model.
  const api::ServedModel* model() const { return ready_.load(); }

  // Whether the request is one that StartGeneration answers, once Check() has nothing to say.
  bool Generates(const HttpRequest& request) const;
  // The reply to a preflight, or why the request is refused: its key, path, method, type, or the
  // server's state. Nothing: it may be answered.
  std::optional<HttpReply> Check(const HttpRequest& request) const;
  // Fields that every reply to this request carries, streams included.
  HeaderFields ReplyFields(const HttpRequest& request) const {
    return cors_.ReplyFields(request.cors);
  }
  // The reply to a request that passed Check() and generates nothing. May take milliseconds for a
  // POST.
  HttpReply Answer(const HttpRequest& request) const;
  // Parses, tokenises, submits: for a worker. Counted in /load until EndGeneration.
  Result<std::unique_ptr<api::Generation>> StartGeneration(const HttpRequest& request,
                                                           const engine::TokenStream::Wake& wake);
  void EndGeneration() { --generating_; }

 private:
  struct Route;
  static const Route kRoutes[];
  static const Route* FindRoute(std::string_view path);

  HttpReply Live(const HttpRequest& request) const;
  HttpReply Health(const HttpRequest& request) const;
  HttpReply GetVersion(const HttpRequest& request) const;
  HttpReply Load(const HttpRequest& request) const;
  HttpReply Metrics(const HttpRequest& request) const;
  HttpReply Models(const HttpRequest& request) const;
  HttpReply OneModel(const HttpRequest& request) const;
  HttpReply Tokenize(const HttpRequest& request) const;
  HttpReply Detokenize(const HttpRequest& request) const;
  // Why nothing can be generated now; OK when it can.
  Status Readiness() const;

  const ServerOptions& options_;
  const Cors cors_;
  api::ServedModel model_;  // written before ready_
  std::atomic<const api::ServedModel*> ready_{nullptr};
  std::atomic<bool> draining_{false};
  std::atomic<int64_t> generating_{0};
};

}  // namespace moxie::server
