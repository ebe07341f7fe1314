// Body: what the JSON body of a generating request says, after its fields were checked for type.
// Ranges are the engine's to check (engine/request.h); nothing here is tokenised yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "engine/request.h"

namespace moxie::api {

// A text, or token ids.
using Prompt = std::variant<std::string, std::vector<int32_t>>;

// Choices of one request at most: prompts times n.
inline constexpr int64_t kMaxChoices = 1024;

struct ReplyFormat;  // api/reply.h

// What /v1/chat/completions has in place of prompts.
struct Chat {
  Json messages;                             // checked when they are rendered
  Json documents;                            // null: none
  Json kwargs;                               // chat_template_kwargs; null: none
  std::optional<std::string> chat_template;  // in place of the server's, where that is trusted
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  bool logprobs = false;
  std::optional<int64_t> top_logprobs;
  std::optional<int64_t> max_completion_tokens;  // wins over max_tokens
};

struct Body {
  const ReplyFormat* format = nullptr;  // of the endpoint; set by its parser
  std::string model;                    // meaningful when has_model
  bool has_model = false;               // absent: the first served name
  std::vector<Prompt> prompts;          // /v1/completions: at least one
  std::optional<Chat> chat;             // /v1/chat/completions
  engine::SamplingParams sampling;
  std::vector<std::string> bad_words;  // texts; their ids are the tokenizer's to say
  std::optional<std::string> cache_salt;
  int64_t priority = 0;
  int64_t n = 1;  // choices a prompt
  bool stream = false;
  bool has_stream_options = false;
  bool include_usage = false;     // a last chunk with usage
  bool continuous_usage = false;  // usage in every chunk
  bool echo = false;              // the answer's text starts with the prompt
  bool add_special_tokens = true;
  bool return_token_ids = false;
  bool tokens_as_ids = false;        // logprobs name tokens "token_id:7"
  std::vector<std::string> unknown;  // names that no table has, for the debug log
};

}  // namespace moxie::api
