// Errors as clients see them: {"error": {"message", "type", "param", "code"}}, with vLLM's types.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace moxie::api {

struct ApiError {
  int http_status = 500;
  std::string type;  // "BadRequestError"
  std::string message;
  std::string param;  // the request's field; empty: null
};

// The error of a Status that parsing or the engine returned. Where its message starts with a field
// of the API, as in `top_p: must be in (0, 1], got 2`, that is the param.
ApiError ErrorOf(const Status& status);

// An error of HTTP itself, whose type is the status's phrase: 404 "Not Found".
ApiError HttpError(int http_status, std::string message);

// The phrase of a status that this server sends: 404 -> "Not Found".
std::string_view HttpPhrase(int http_status);

// {"error": {...}}
JsonObject ErrorBody(const ApiError& error);

}  // namespace moxie::api
