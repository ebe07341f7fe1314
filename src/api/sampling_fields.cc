// The fields that all generating endpoints share.
#include <charconv>

#include "api/field_values.h"
#include "api/fields.h"

namespace moxie::api {
namespace {

using engine::SamplingParams;

template <typename T, typename Read>
Status Store(std::string_view field, const Json& value, Read read, T& to) {
  MOXIE_ASSIGN_OR_RETURN(to, read(field, value));
  return {};
}

Status SetLogitBias(const Json& value, Body& body) {
  if (!value.is_object()) return WrongType("logit_bias", "an object of token id: bias", value);
  for (const auto& member : value.get_object()) {
    const std::string_view key = member.key();
    int32_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size()) {
      return InvalidArgument("logit_bias: \"", key, "\" is not a token id");
    }
    MOXIE_ASSIGN_OR_RETURN(const double bias, ReadReal("logit_bias", member.value()));
    body.sampling.logit_bias.emplace_back(id, bias);
  }
  return {};
}

Status SetStreamOptions(const Json& value, Body& body) {
  if (!value.is_object()) return WrongType("stream_options", "an object", value);
  body.has_stream_options = true;
  for (const auto& member : value.get_object()) {
    if (member.value().is_null()) continue;
    const std::string field = StrCat("stream_options.", std::string_view(member.key()));
    if (member.key() == "include_usage") {
      MOXIE_RETURN_IF_ERROR(Store(field, member.value(), ReadBool, body.include_usage));
    } else if (member.key() == "continuous_usage_stats") {
      MOXIE_RETURN_IF_ERROR(Store(field, member.value(), ReadBool, body.continuous_usage));
    } else {
      body.unknown.push_back(field);
    }
  }
  return {};
}

Status SetResponseFormat(const Json& value, Body&) {
  if (!value.is_object()) return WrongType("response_format", "an object", value);
  const Json* type = value.get_object().if_contains("type");
  if (type != nullptr && type->is_string() && type->get_string() == "text") return {};
  return InvalidArgument("response_format: only {\"type\": \"text\"} is supported");
}

// clang-format off
#define MOXIE_SET(field, read, member)                    \
  [](const Json& value, Body& body) -> Status {           \
    return Store(field, value, read, body.member);        \
  }

constexpr std::string_view kNoGrammar = "answers cannot be constrained to a grammar";

constexpr FieldRow kFields[] = {
  {.name = "model", .type = "a string", .range = "a served name", .set = [](const Json& value, Body& body) -> Status {
     body.has_model = true;
     return Store("model", value, ReadString, body.model);
   }},
  // Choosing tokens
  {.name = "temperature", .type = "a number", .range = "[0, 2]", .fallback = "1", .set = MOXIE_SET("temperature", ReadReal, sampling.temperature)},
  {.name = "top_p", .type = "a number", .range = "(0, 1]", .fallback = "1", .set = MOXIE_SET("top_p", ReadReal, sampling.top_p)},
  {.name = "top_k", .type = "an integer", .range = "at least 1, or 0 or -1 for off", .fallback = "0", .set = MOXIE_SET("top_k", ReadInt, sampling.top_k)},
  {.name = "min_p", .type = "a number", .range = "[0, 1]", .fallback = "0", .set = MOXIE_SET("min_p", ReadReal, sampling.min_p)},
  {.name = "presence_penalty", .type = "a number", .range = "[-2, 2]", .fallback = "0", .set = MOXIE_SET("presence_penalty", ReadReal, sampling.presence_penalty)},
  {.name = "frequency_penalty", .type = "a number", .range = "[-2, 2]", .fallback = "0", .set = MOXIE_SET("frequency_penalty", ReadReal, sampling.frequency_penalty)},
  {.name = "repetition_penalty", .type = "a number", .range = "greater than 0", .fallback = "1", .set = MOXIE_SET("repetition_penalty", ReadReal, sampling.repetition_penalty)},
  {.name = "seed", .type = "an integer", .range = "64 bits; -1: none", .set = MOXIE_SET("seed", ReadInt, sampling.seed)},
  {.name = "n", .type = "an integer", .range = "[1, 1024] choices in all", .fallback = "1", .set = MOXIE_SET("n", ReadInt, n)},
  {.name = "logit_bias", .type = "an object of token id: bias", .range = "[-100, 100]", .set = SetLogitBias},
  {.name = "allowed_token_ids", .type = "an array of token ids", .range = "the vocabulary", .set = MOXIE_SET("allowed_token_ids", ReadTokenIds, sampling.allowed_token_ids)},
  {.name = "bad_words", .type = "a string or an array of strings", .range = "no empty string", .set = MOXIE_SET("bad_words", ReadStrings, bad_words)},
  // Where the answer ends
  {.name = "min_tokens", .type = "an integer", .range = "at least 0, at most max_tokens", .fallback = "0", .set = MOXIE_SET("min_tokens", ReadInt, sampling.min_tokens)},
  {.name = "ignore_eos", .type = "a boolean", .fallback = "false", .set = MOXIE_SET("ignore_eos", ReadBool, sampling.ignore_eos)},
  {.name = "stop", .type = "a string or an array of strings", .range = "no empty string", .set = MOXIE_SET("stop", ReadStrings, sampling.stop)},
  {.name = "stop_token_ids", .type = "an array of token ids", .range = "the vocabulary", .set = MOXIE_SET("stop_token_ids", ReadTokenIds, sampling.stop_token_ids)},
  {.name = "include_stop_str_in_output", .type = "a boolean", .fallback = "false", .set = MOXIE_SET("include_stop_str_in_output", ReadBool, sampling.include_stop_str_in_output)},
  // What the answer shows
  {.name = "stream", .type = "a boolean", .fallback = "false", .set = MOXIE_SET("stream", ReadBool, stream)},
  {.name = "stream_options", .type = "an object", .range = "only with stream", .set = SetStreamOptions},
  {.name = "skip_special_tokens", .type = "a boolean", .fallback = "true", .set = MOXIE_SET("skip_special_tokens", ReadBool, sampling.skip_special_tokens)},
  {.name = "prompt_logprobs", .type = "an integer", .range = "at least 0; not with stream", .set = MOXIE_SET("prompt_logprobs", ReadInt, sampling.prompt_logprobs)},
  {.name = "return_token_ids", .type = "a boolean", .fallback = "false", .set = MOXIE_SET("return_token_ids", ReadBool, return_token_ids)},
  {.name = "return_tokens_as_token_ids", .type = "a boolean", .fallback = "false", .set = MOXIE_SET("return_tokens_as_token_ids", ReadBool, tokens_as_ids)},
  {.name = "add_special_tokens", .type = "a boolean", .fallback = "true", .set = MOXIE_SET("add_special_tokens", ReadBool, add_special_tokens)},
  {.name = "response_format", .type = "an object", .range = "{\"type\": \"text\"}", .set = SetResponseFormat},
  // How it is served
  {.name = "cache_salt", .type = "a string", .range = "1 to 1024 characters", .set = MOXIE_SET("cache_salt", ReadString, cache_salt)},
  {.name = "priority", .type = "an integer", .range = "64 bits; lower ones first; other than 0 only with --scheduling-policy priority", .fallback = "0", .set = MOXIE_SET("priority", ReadInt, priority)},
  // No effect on the answer
  {.name = "user", .type = "a string", .kind = FieldClass::kIgnored},
  {.name = "metadata", .type = "an object", .kind = FieldClass::kIgnored},
  {.name = "service_tier", .type = "a string", .kind = FieldClass::kIgnored},
  {.name = "store", .type = "a boolean", .kind = FieldClass::kIgnored},
  {.name = "spaces_between_special_tokens", .type = "a boolean", .fallback = "true", .kind = FieldClass::kIgnored},
  // Would be a wrong answer if ignored
  {.name = "use_beam_search", .type = "a boolean", .fallback = "false", .kind = FieldClass::kRefused, .why = "there is no beam search"},
  {.name = "length_penalty", .type = "a number", .fallback = "1.0", .kind = FieldClass::kRefused, .why = "there is no beam search"},
  {.name = "truncate_prompt_tokens", .type = "an integer", .kind = FieldClass::kRefused, .why = "send a shorter prompt"},
  {.name = "logprob_token_ids", .type = "an array of token ids", .kind = FieldClass::kRefused, .why = "use logprobs"},
  {.name = "structured_outputs", .type = "an object", .kind = FieldClass::kRefused, .why = kNoGrammar},
  {.name = "prompt_embeds", .type = "a string", .kind = FieldClass::kRefused, .why = "send a text or token ids"},
  {.name = "logits_processors", .type = "an array", .fallback = "[]", .kind = FieldClass::kRefused, .why = "use logit_bias or allowed_token_ids"},
};
#undef MOXIE_SET
// clang-format on

}  // namespace

std::span<const FieldRow> SamplingFields() { return kFields; }

}  // namespace moxie::api
