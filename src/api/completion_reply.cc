#include "api/completion_reply.h"

#include <algorithm>

namespace moxie::api {
namespace {

constexpr float kImpossible = -9999.0f;  // JSON has no -infinity; vLLM prints this

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
  std::string Name(int32_t id) const {
    return body_.tokens_as_ids ? StrCat("token_id:", id) : tokenizer_.TokenString(id);
  }

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

JsonObject RankedLogprob(const text::Tokenizer& tokenizer, const engine::Logprob& entry,
                         int64_t rank) {
  return {{"logprob", std::max(entry.logprob, kImpossible)},
          {"rank", rank},
          {"decoded_token", tokenizer.TokenString(entry.token)}};
}

// [null, {"<token id>": {"logprob", "rank", "decoded_token"}, ...}, ...]: an entry a prompt token.
Json PromptLogprobsJson(const Body& body, const text::Tokenizer& tokenizer, const Choice& choice) {
  if (!body.sampling.prompt_logprobs) return nullptr;
  JsonArray positions = {nullptr};
  for (size_t i = 1; i < choice.prompt_ids->size(); ++i) {
    const engine::TokenLogprobs token = choice.stream->prompt_logprobs(static_cast<int64_t>(i));
    JsonObject entries;
    entries[std::to_string(token.chosen.token)] =
        RankedLogprob(tokenizer, token.chosen, token.rank);
    int64_t rank = 0;
    for (const engine::Logprob& entry : token.top) {
      ++rank;
      if (entry.token < 0 || entry.token == token.chosen.token) continue;
      entries[std::to_string(entry.token)] = RankedLogprob(tokenizer, entry, rank);
    }
    positions.push_back(std::move(entries));
  }
  return positions;
}

Json StopReasonJson(const engine::StopReason& reason) {
  if (const auto* id = std::get_if<int32_t>(&reason)) return *id;
  if (const auto* text = std::get_if<std::string_view>(&reason)) return Json(*text);
  return nullptr;
}

Json IdsJson(const int32_t* ids, size_t count) { return JsonArray(ids, ids + count); }

}  // namespace

JsonObject CompletionChoice(const Body& body, const text::Tokenizer& tokenizer, Choice& choice,
                            const Delta& delta) {
  const bool ended = choice.finish != engine::FinishReason::kNone;
  std::string text = delta.first && body.echo ? *choice.prompt_text : std::string();
  text += delta.text;
  JsonObject json;
  json["index"] = choice.index;
  json["text"] = std::move(text);
  json["logprobs"] = LogprobsJson(body, tokenizer, choice, delta);
  json["finish_reason"] = ended ? Json(Name(choice.finish)) : Json(nullptr);
  json["stop_reason"] = StopReasonJson(choice.stop_reason);
  json["token_ids"] = nullptr;
  json["prompt_token_ids"] = nullptr;
  json["prompt_logprobs"] = delta.first ? PromptLogprobsJson(body, tokenizer, choice) : nullptr;
  if (!body.return_token_ids) return json;
  json["token_ids"] = IdsJson(choice.ids.data() + delta.first_token, delta.tokens);
  if (delta.first) {
    json["prompt_token_ids"] = IdsJson(choice.prompt_ids->data(), choice.prompt_ids->size());
  }
  return json;
}

JsonObject CompletionReply(const ReplyHead& head, JsonArray choices, const Usage* usage) {
  return {{"id", head.id},
          {"object", "text_completion"},
          {"created", head.created},
          {"model", head.model},
          {"choices", std::move(choices)},
          {"usage", usage == nullptr ? Json(nullptr) : Json(UsageJson(*usage))}};
}

JsonObject UsageJson(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"prompt_tokens_details", nullptr}};
}

}  // namespace moxie::api
