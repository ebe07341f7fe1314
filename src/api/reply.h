// The JSON of replies, whole and in chunks, field by field as vLLM prints it. Pure: from what a
// choice has come to, to JSON. An endpoint is a ReplyFormat.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  std::optional<int64_t> cached_tokens;  // of the prompts; absent: not shown
};

// One answer and what has been read of it.
struct Choice {
  int64_t index = 0;
  const std::vector<int32_t>* prompt_ids = nullptr;
  const std::string* prompt_text = nullptr;  // set with echo
  std::shared_ptr<engine::TokenStream> stream;
  std::vector<int32_t> ids;
  int64_t cached_tokens = 0;
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

// How an endpoint writes. Entries of "choices" advance choice.text_offset over the tokens whose
// logprobs they show.
struct ReplyFormat {
  std::string_view id_prefix;     // "cmpl-"
  std::string_view object;        // of a whole reply: "text_completion"
  std::string_view chunk_object;  // of a chunk
  JsonObject (*choice)(const Body& body, const text::Tokenizer& tokenizer, Choice& choice,
                       const Delta& delta);
  JsonObject (*chunk_choice)(const Body& body, const text::Tokenizer& tokenizer, Choice& choice,
                             const Delta& delta);
  JsonObject (*opening)(const Choice& choice);  // an entry before the first token's; null: none
  // Adds what stands beside "choices" in a whole reply and in the first chunk; null: nothing.
  void (*add_prompt)(const Body& body, const text::Tokenizer& tokenizer, const Choice& choice,
                     JsonObject& reply);
};
const ReplyFormat& CompletionFormat();
const ReplyFormat& ChatFormat();

// {"id", "object", "created", "model", "choices", "usage"}; `usage` null: a JSON null.
JsonObject MakeReply(const ReplyHead& head, std::string_view object, JsonArray choices,
                     const Usage* usage);

JsonObject UsageJson(const Usage& usage);

// --- Parts that formats share ---

// JSON has no -infinity; vLLM prints this.
inline constexpr float kImpossible = -9999.0f;

// "token_id:7" where the body asks for it, else the token's text.
std::string TokenName(const Body& body, const text::Tokenizer& tokenizer, int32_t id);
// null while the choice runs.
Json FinishReasonJson(const Choice& choice);
// null, a token id or a stop string.
Json StopReasonJson(const Choice& choice);
// The delta's ids, or null where the body does not ask for them.
Json TokenIdsJson(const Body& body, const Choice& choice, const Delta& delta);
Json PromptTokenIdsJson(const Body& body, const Choice& choice);
// [null, {"<token id>": {"logprob", "rank", "decoded_token"}, ...}, ...]: an entry a prompt token.
Json PromptLogprobsJson(const Body& body, const text::Tokenizer& tokenizer, const Choice& choice);

}  // namespace moxie::api
