// Server: the HTTP/1.1 front of an engine. Opens its port first, so that an occupied one is found
// before a model is loaded, and answers 503 until it has one.
//
//   Start -> (load the model) -> CatchSignals -> Serve -> WaitForSignal -> Stop
//
// Threads: `options.threads` for sockets, each connection on one of them for its life; as many that
// parse and tokenise. A client that goes away ends its request; a slow one gets longer chunks and
// holds no more than its answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "api/served_model.h"
#include "base/status.h"
#include "server/options.h"

namespace moxie::server {

class Server {
 public:
  // Listens. kUnavailable, one line: the address, why, and what would work.
  static Result<std::unique_ptr<Server>> Start(const ServerOptions& options);
  // Stops at once.
  ~Server();

  // From now on requests are answered. The model's engine and tokenizer must outlive the server.
  // Call it once.
  void Serve(api::ServedModel model);

  uint16_t port() const;

  // From now on SIGTERM and SIGINT do not end the process: the first ends WaitForSignal, the second
  // makes Stop end at once.
  void CatchSignals();
  // REQUIRES: CatchSignals was called. Call it once.
  void WaitForSignal();

  // Takes no new connections and requests, lets the engine finish the others for at most `limit`,
  // ends what is left with an error, closes all connections. The engine is stopped after it.
  void Stop(std::chrono::milliseconds limit);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace moxie::server
