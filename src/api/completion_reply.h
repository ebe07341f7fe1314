// The JSON of /v1/completions, whole and in chunks, field by field as vLLM prints it. Pure: from
// what a choice has come to, to JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/body.h"
#include "base/json.h"
#include "engine/token_stream.h"
#include "text/tokenizer.h"

namespace moxie::api {

// The same in every chunk of a reply.
struct ReplyHead {
  std::string id;       // "cmpl-..."
  int64_t created = 0;  // Unix time
  std::string model;    // the name that was asked for
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

// One answer and what has been read of it.
struct Choice {
  int64_t index = 0;
  const std::vector<int32_t>* prompt_ids = nullptr;
  const std::string* prompt_text = nullptr;  // set with echo
  std::shared_ptr<engine::TokenStream> stream;
  std::vector<int32_t> ids;
  std::string text;         // kept for whole replies only
  bool started = false;     // a chunk has been made
  int64_t text_offset = 0;  // characters that logprobs have covered
  engine::FinishReason finish = engine::FinishReason::kNone;
  engine::StopReason stop_reason;  // points into stream
};

// A stretch of a choice: all of it, or what one chunk shows.
struct Delta {
  bool first = false;  // with what belongs to the prompt: echo, its ids and log-probabilities
  std::string_view text;
  size_t first_token = 0;
  size_t tokens = 0;
};

// An entry of "choices". Advances choice.text_offset over the tokens whose logprobs it shows.
JsonObject CompletionChoice(const Body& body, const text::Tokenizer& tokenizer, Choice& choice,
                            const Delta& delta);

// {"id", "object": "text_completion", "created", "model", "choices"} and, where given, "usage".
JsonObject CompletionReply(const ReplyHead& head, JsonArray choices, const Usage* usage);

JsonObject UsageJson(const Usage& usage);

}  // namespace moxie::api
