#include "server/http.h"

namespace moxie::server {

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
