// The JSON of /v1/completions.

#include <algorithm>

#include "api/reply.h"

namespace moxie::api {
namespace {

// The four lists of a "logprobs" object, filled token by token.
class LogprobLists {
 public:
  LogprobLists(const Body& body, const text::Tokenizer& tokenizer, int64_t* text_offset)
      : body_(body), tokenizer_(tokenizer), text_offset_(text_offset) {}

  // The first token of a prompt: nothing came before it.
  void AddUnscored(int32_t id) { Add(id, nullptr, nullptr); }

  void AddScored(const engine::TokenLogprobs& token) {
    JsonObject top;
    for (const engine::Logprob& entry : token.top) {
      if (entry.token >= 0) top[Name(entry.token)] = std::max(entry.logprob, kImpossible);
    }
    // The chosen one is always there, so there may be one more than was asked for.
    const float chosen = std::max(token.chosen.logprob, kImpossible);
    if (!token.top.empty()) top[Name(token.chosen.token)] = chosen;
    Add(token.chosen.token, chosen, std::move(top));
  }

  JsonObject Take() {
    return {{"text_offset", std::move(offsets_)},
            {"token_logprobs", std::move(logprobs_)},
            {"tokens", std::move(tokens_)},
            {"top_logprobs", std::move(tops_)}};
  }

 private:
  std::string Name(int32_t id) const { return TokenName(body_, tokenizer_, id); }

  void Add(int32_t id, Json logprob, Json top) {
    const std::string name = Name(id);
    offsets_.push_back(*text_offset_);
    *text_offset_ += std::ranges::count_if(name, [](char c) { return (c & 0xC0) != 0x80; });
    tokens_.push_back(Json(name));
    logprobs_.push_back(std::move(logprob));
    tops_.push_back(std::move(top));
  }

  const Body& body_;
  const text::Tokenizer& tokenizer_;
  int64_t* const text_offset_;  // characters before the next token
  JsonArray offsets_, logprobs_, tokens_, tops_;
};

Json LogprobsJson(const Body& body, const text::Tokenizer& tokenizer, Choice& choice,
                  const Delta& delta) {
  if (!body.sampling.logprobs) return nullptr;
  LogprobLists lists(body, tokenizer, &choice.text_offset);
  if (delta.first && body.echo) {
    const std::vector<int32_t>& prompt = *choice.prompt_ids;
    lists.AddUnscored(prompt.front());
    for (size_t i = 1; i < prompt.size(); ++i) {
      lists.AddScored(choice.stream->prompt_logprobs(static_cast<int64_t>(i)));
    }
  }
  for (size_t i = 0; i < delta.tokens; ++i) {
    lists.AddScored(choice.stream->logprobs(static_cast<int64_t>(delta.first_token + i)));
  }
  return lists.Take();
}

JsonObject CompletionChoice(const Body& body, const text::Tokenizer& tokenizer, Choice& choice,
                            const Delta& delta) {
  std::string text = delta.first && body.echo ? *choice.prompt_text : std::string();
  text += delta.text;
  JsonObject json;
  json["index"] = choice.index;
  json["text"] = std::move(text);
  json["logprobs"] = LogprobsJson(body, tokenizer, choice, delta);
  json["finish_reason"] = FinishReasonJson(choice);
  json["stop_reason"] = StopReasonJson(choice);
  json["token_ids"] = TokenIdsJson(body, choice, delta);
  json["prompt_token_ids"] = delta.first ? PromptTokenIdsJson(body, choice) : nullptr;
  json["prompt_logprobs"] = delta.first ? PromptLogprobsJson(body, tokenizer, choice) : nullptr;
  return json;
}

constexpr ReplyFormat kFormat = {
    .id_prefix = "cmpl-",
    .object = "text_completion",
    .chunk_object = "text_completion",
    .choice = CompletionChoice,
    .chunk_choice = CompletionChoice,
    .opening = nullptr,
    .add_prompt = nullptr,
};

}  // namespace

const ReplyFormat& CompletionFormat() { return kFormat; }

}  // namespace moxie::api
