// From a parsed body to engine requests: tokenises the prompts. May take milliseconds; run it on a
// worker.
#pragma once

#include <string>
#include <vector>

#include "api/body.h"
#include "api/served_model.h"
#include "base/status.h"
#include "engine/request.h"

namespace moxie::api {

// Ids of each prompt, or of the rendered chat. Errors start with "prompt" or the chat's field.
Result<std::vector<std::vector<int32_t>>> EncodePrompts(const ServedModel& model, const Body& body);

// Ids of each bad word as it stands and after a space, where that is another spelling of as many
// tokens (vLLM's rule, SamplingParams.update_from_tokenizer). Errors start with "bad_words".
Result<std::vector<std::vector<int32_t>>> EncodeBadWords(const ServedModel& model,
                                                         const Body& body);

// The sampling of every choice of a prompt of so many tokens: max_tokens where the body has none,
// and the prompt's log-probabilities where echo shows them.
engine::SamplingParams SamplingFor(const ServedModel& model, const Body& body,
                                   int64_t prompt_tokens);

}  // namespace moxie::api
