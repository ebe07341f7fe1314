// What a server is started with.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace moxie::server {

// Bounds on what clients can make the server hold or wait for.
struct Limits {
  int64_t connections = 1024;                    // more get a 503
  uint32_t header_bytes = 64 << 10;              // request line and fields; more: 431
  int64_t header_fields = 128;                   // more: 431
  int64_t body_bytes = int64_t{16} << 20;        // of one request; more: 413
  int64_t body_pool_bytes = int64_t{256} << 20;  // of all requests being read; more: 503
  std::chrono::milliseconds idle{75'000};        // between requests on a kept connection
  std::chrono::milliseconds read{30'000};        // for the fields, then for the body
  std::chrono::milliseconds write{30'000};       // for one write to be taken by the client
  std::chrono::milliseconds request{3'600'000};  // for an answer to be complete
  std::chrono::milliseconds flush{5'000};        // for the last bytes when the server stops
};

// Which pages of other origins may read answers: --allowed-origins and its like.
struct CorsOptions {
  std::vector<std::string> origins;  // "http://ui.example"; "*": any
  std::vector<std::string> methods = {"*"};
  std::vector<std::string> headers = {"*"};
  bool credentials = false;  // browsers may send cookies and the like
};

struct ServerOptions {
  std::string host = "127.0.0.1";     // a name or an address; empty: all interfaces
  uint16_t port = 0;                  // 0: any free one
  std::vector<std::string> api_keys;  // guard /v1, /v2 and /inference; empty: no guard
  CorsOptions cors;
  int threads = 2;  // of sockets; as many tokenise
  Limits limits;
  // Gets a line a request: `127.0.0.1:5123 "POST /v1/completions HTTP/1.1" 200 12 ms`. Called from
  // several threads; may be null.
  std::function<void(std::string_view)> access_log;
};

}  // namespace moxie::server
