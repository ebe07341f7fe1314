#include "api/prompts.h"

#include <algorithm>

namespace moxie::api {
namespace {

constexpr int64_t kDefaultMaxTokens = 16;  // of /v1/completions, as OpenAI documents it

Result<std::vector<int32_t>> Encode(const ServedModel& model, const Body& body,
                                    const Prompt& prompt) {
  if (const auto* ids = std::get_if<std::vector<int32_t>>(&prompt)) return *ids;
  text::EncodeOptions options;
  options.add_special_tokens = body.add_special_tokens;
  auto ids = model.tokenizer->Encode(std::get<std::string>(prompt), options);
  if (!ids.ok()) return std::move(ids).status().WithContext("prompt");
  return ids;
}

}  // namespace

Result<std::vector<std::vector<int32_t>>> EncodePrompts(const ServedModel& model,
                                                        const Body& body) {
  std::vector<std::vector<int32_t>> prompts;
  for (const Prompt& prompt : body.prompts) {
    MOXIE_ASSIGN_OR_RETURN(prompts.emplace_back(), Encode(model, body, prompt));
  }
  return prompts;
}

engine::SamplingParams SamplingFor(const ServedModel& model, const Body& body,
                                   int64_t prompt_tokens) {
  engine::SamplingParams params = body.sampling;
  if (!params.max_tokens) {
    // "Up to 16": where fewer fit, the context ends the answer.
    const int64_t left = model.max_model_len - prompt_tokens;
    params.max_tokens = std::clamp<int64_t>(left, 1, kDefaultMaxTokens);
  }
  // Scoring a prompt, max_tokens 0, is a run for its log-probabilities even when none are shown.
  if (body.echo && !params.prompt_logprobs && (params.logprobs || params.max_tokens == 0)) {
    params.prompt_logprobs = params.logprobs.value_or(0);
  }
  return params;
}

}  // namespace moxie::api
