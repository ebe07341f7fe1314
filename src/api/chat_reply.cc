// The JSON of /v1/chat/completions.
#include <algorithm>

#include "api/reply.h"

namespace moxie::api {
namespace {

JsonArray BytesJson(std::string_view bytes) {
  JsonArray json;
  for (char byte : bytes) json.push_back(static_cast<unsigned char>(byte));
  return json;
}

// {"token", "logprob", "bytes"}
JsonObject TokenJson(const Body& body, const text::Tokenizer& tokenizer,
                     const engine::Logprob& entry) {
  return {{"token", TokenName(body, tokenizer, entry.token)},
          {"logprob", std::max(entry.logprob, kImpossible)},
          {"bytes", BytesJson(tokenizer.TokenBytes(entry.token))}};
}

// {"content": [an entry a token of the delta, with its alternatives]}
Json LogprobsJson(const Body& body, const text::Tokenizer& tokenizer, const Choice& choice,
                  const Delta& delta) {
  if (!body.sampling.logprobs) return nullptr;
  JsonArray content;
  for (size_t i = 0; i < delta.tokens; ++i) {
    const auto token = choice.stream->logprobs(static_cast<int64_t>(delta.first_token + i));
    JsonArray top;
    for (const engine::Logprob& entry : token.top) {
      if (entry.token >= 0) top.push_back(TokenJson(body, tokenizer, entry));
    }
    JsonObject json = TokenJson(body, tokenizer, token.chosen);
    json["top_logprobs"] = std::move(top);
    content.push_back(std::move(json));
  }
  return JsonObject{{"content", std::move(content)}, {"refusal", nullptr}};
}

// What a message and a delta have around them.
JsonObject ChoiceJson(const Body& body, const text::Tokenizer& tokenizer, const Choice& choice,
                      const Delta& delta, std::string_view name, JsonObject message) {
  JsonObject json;
  json["index"] = choice.index;
  json[name] = std::move(message);
  json["logprobs"] = LogprobsJson(body, tokenizer, choice, delta);
  json["finish_reason"] = FinishReasonJson(choice);
  json["stop_reason"] = StopReasonJson(choice);
  json["token_ids"] = TokenIdsJson(body, choice, delta);
  return json;
}

JsonObject MessageChoice(const Body& body, const text::Tokenizer& tokenizer, Choice& choice,
                         const Delta& delta) {
  JsonObject message = {
      {"role", "assistant"}, {"content", delta.text}, {"refusal", nullptr}, {"reasoning", nullptr}};
  return ChoiceJson(body, tokenizer, choice, delta, "message", std::move(message));
}

JsonObject DeltaChoice(const Body& body, const text::Tokenizer& tokenizer, Choice& choice,
                       const Delta& delta) {
  return ChoiceJson(body, tokenizer, choice, delta, "delta", {{"content", delta.text}});
}

JsonObject Opening(const Choice& choice) {
  return {{"index", choice.index},
          {"delta", JsonObject{{"role", "assistant"}, {"content", ""}}},
          {"logprobs", nullptr},
          {"finish_reason", nullptr}};
}

void AddPrompt(const Body& body, const text::Tokenizer& tokenizer, const Choice& choice,
               JsonObject& reply) {
  reply["prompt_token_ids"] = PromptTokenIdsJson(body, choice);
  reply["prompt_logprobs"] = PromptLogprobsJson(body, tokenizer, choice);
}

constexpr ReplyFormat kFormat = {
    .id_prefix = "chatcmpl-",
    .object = "chat.completion",
    .chunk_object = "chat.completion.chunk",
    .choice = MessageChoice,
    .chunk_choice = DeltaChoice,
    .opening = Opening,
    .add_prompt = AddPrompt,
};

}  // namespace

const ReplyFormat& ChatFormat() { return kFormat; }

}  // namespace moxie::api
