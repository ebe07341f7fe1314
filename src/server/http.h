// A request and a reply as the routes see them: no sockets, no HTTP library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/error.h"
#include "base/json.h"

namespace moxie::server {

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

// What a browser says about the page that asks; empty: it does not.
struct CorsRequest {
  std::string origin;       // Origin
  std::string method;       // Access-Control-Request-Method
  std::string headers;      // Access-Control-Request-Headers
  bool has_cookie = false;  // Cookie is there
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // path and query, as sent
  std::string authorization;
  std::string content_type;
  CorsRequest cors;
  std::string body;

  // Without the query, and without the "http://host" that a client may put before it.
  std::string_view path() const;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  HeaderFields headers;
};

HttpReply JsonReply(const JsonObject& json);
// With Retry-After on a 503.
HttpReply ErrorReply(const api::ApiError& error);

}  // namespace moxie::server
