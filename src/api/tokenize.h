// POST /tokenize and /detokenize. Run them on a worker: a long text takes milliseconds.
#pragma once

#include "api/served_model.h"
#include "base/json.h"
#include "base/status.h"

namespace moxie::api {

// {"prompt", "add_special_tokens", "return_token_strs"} ->
// {"count", "max_model_len", "tokens", "token_strs"}
Result<JsonObject> Tokenize(const ServedModel& model, const Json& json);

// {"tokens"} -> {"prompt"}
Result<JsonObject> Detokenize(const ServedModel& model, const Json& json);

}  // namespace moxie::api
