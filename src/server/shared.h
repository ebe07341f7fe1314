// What all connections of a server share.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>

#include "server/app.h"
#include "server/options.h"

namespace moxie::server {

struct Shared {
  explicit Shared(const ServerOptions& given)
      : options(given), app(options), workers(static_cast<size_t>(given.threads)) {}

  const ServerOptions options;
  App app;
  boost::asio::thread_pool workers;     // parse and tokenise
  std::atomic<int64_t> connections{0};  // open
  std::atomic<int64_t> body_bytes{0};   // of requests being read or answered
};

// A part of Limits::body_pool_bytes, held while a body is in memory.
class BodyReservation {
 public:
  explicit BodyReservation(Shared& shared) : shared_(shared) {}
  ~BodyReservation() { shared_.body_bytes -= bytes_; }
  BodyReservation(const BodyReservation&) = delete;
  BodyReservation& operator=(const BodyReservation&) = delete;

  // False, and nothing is held, when the pool has less.
  bool Take(int64_t bytes) {
    if (shared_.body_bytes.fetch_add(bytes) + bytes > shared_.options.limits.body_pool_bytes) {
      shared_.body_bytes -= bytes;
      return false;
    }
    bytes_ += bytes;
    return true;
  }

 private:
  Shared& shared_;
  int64_t bytes_ = 0;
};

}  // namespace moxie::server
