#include "server/http.h"

#include <algorithm>

namespace moxie::server {

std::string_view HttpRequest::path() const {
  constexpr std::string_view kScheme = "http://";
  std::string_view path = target;
  if (path.starts_with(kScheme)) {
    path.remove_prefix(std::min(path.find('/', kScheme.size()), path.size()));
  }
  return path.substr(0, path.find('?'));
}

HttpReply JsonReply(const JsonObject& json) {
  HttpReply reply;
  reply.body = DumpJson(json);
  return reply;
}

HttpReply ErrorReply(const api::ApiError& error) {
  HttpReply reply = JsonReply(api::ErrorBody(error));
  reply.status = error.http_status;
  if (error.http_status == 503) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

}  // namespace moxie::server
