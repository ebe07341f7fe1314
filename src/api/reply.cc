#include "api/reply.h"

#include <algorithm>

namespace moxie::api {
namespace {

JsonObject RankedLogprob(const text::Tokenizer& tokenizer, const engine::Logprob& entry,
                         int64_t rank) {
  return {{"logprob", std::max(entry.logprob, kImpossible)},
          {"rank", rank},
          {"decoded_token", tokenizer.TokenString(entry.token)}};
}

Json IdsJson(const int32_t* ids, size_t count) { return JsonArray(ids, ids + count); }

}  // namespace

JsonObject MakeReply(const ReplyHead& head, std::string_view object, JsonArray choices,
                     const Usage* usage) {
  return {{"id", head.id},
          {"object", object},
          {"created", head.created},
          {"model", head.model},
          {"choices", std::move(choices)},
          {"usage", usage == nullptr ? Json(nullptr) : Json(UsageJson(*usage))}};
}

std::string TokenName(const Body& body, const text::Tokenizer& tokenizer, int32_t id) {
  return body.tokens_as_ids ? StrCat("token_id:", id) : tokenizer.TokenString(id);
}

Json FinishReasonJson(const Choice& choice) {
  if (choice.finish == engine::FinishReason::kNone) return nullptr;
  return Json(Name(choice.finish));
}

Json StopReasonJson(const Choice& choice) {
  if (const auto* id = std::get_if<int32_t>(&choice.stop_reason)) return *id;
  if (const auto* text = std::get_if<std::string_view>(&choice.stop_reason)) return Json(*text);
  return nullptr;
}

Json TokenIdsJson(const Body& body, const Choice& choice, const Delta& delta) {
  if (!body.return_token_ids) return nullptr;
  return IdsJson(choice.ids.data() + delta.first_token, delta.tokens);
}

Json PromptTokenIdsJson(const Body& body, const Choice& choice) {
  if (!body.return_token_ids) return nullptr;
  return IdsJson(choice.prompt_ids->data(), choice.prompt_ids->size());
}

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

JsonObject UsageJson(const Usage& usage) {
  Json details;
  if (usage.cached_tokens) details = JsonObject{{"cached_tokens", *usage.cached_tokens}};
  return {{"prompt_tokens", usage.prompt_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"prompt_tokens_details", std::move(details)}};
}

}  // namespace moxie::api
