// CORS: which pages of other origins may read what this server answers. The rules are those of
// Starlette's CORSMiddleware, which vLLM uses: a preflight is answered before keys, paths and the
// state of the model are looked at, and every other reply, errors and streams too, carries the
// origin that asked when it is an allowed one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/http.h"
#include "server/options.h"

namespace moxie::server {

class Cors {
 public:
  explicit Cors(const CorsOptions& options);

  // The fields that a reply to this request carries; none without an Origin.
  HeaderFields ReplyFields(const CorsRequest& request) const;
  // The reply to a preflight; nothing when the request is none.
  std::optional<HttpReply> Preflight(const HttpRequest& request) const;

 private:
  bool Allows(const std::string& origin) const;
  // Why a preflight is refused: "origin, method"; empty when it is not.
  std::string Refusals(const CorsRequest& request) const;

  const std::vector<std::string> origins_;
  const std::vector<std::string> methods_;
  std::vector<std::string> headers_;  // in lower case
  std::string headers_field_;         // those, as they were written, and the safelisted ones
  const bool any_origin_;
  const bool any_header_;
  const bool credentials_;
};

}  // namespace moxie::server
