#include "api/prompts.h"

#include <algorithm>

#include "text/chat_encode.h"

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

const Json* OrNull(const Json& json) { return json.is_null() ? nullptr : &json; }

// By the server's template, or the request's own where the operator trusts requests with that.
Result<text::ChatPrompt> Render(const ServedModel& model, const Chat& chat,
                                const text::ChatRequest& request) {
  if (!chat.chat_template) return model.chat_template->Render(request);
  if (!model.trust_request_template) {
    return InvalidArgument(
        "chat_template: templates of requests are not trusted; the server takes them when started "
        "with --trust-request-chat-template");
  }
  MOXIE_ASSIGN_OR_RETURN(auto own,
                         model.chat_template->WithSource(*chat.chat_template, "chat_template"));
  return own.Render(request);
}

Result<std::vector<int32_t>> EncodeMessages(const ServedModel& model, const Body& body) {
  const Chat& chat = *body.chat;
  text::ChatRequest request;
  request.messages = &chat.messages;
  request.documents = OrNull(chat.documents);
  request.kwargs = OrNull(chat.kwargs);
  request.add_generation_prompt = chat.add_generation_prompt;
  request.continue_final_message = chat.continue_final_message;
  MOXIE_ASSIGN_OR_RETURN(const text::ChatPrompt prompt, Render(model, chat, request));
  return text::EncodeChat(*model.tokenizer, prompt, body.add_special_tokens);
}

}  // namespace

Result<std::vector<std::vector<int32_t>>> EncodePrompts(const ServedModel& model,
                                                        const Body& body) {
  std::vector<std::vector<int32_t>> prompts;
  if (body.chat) {
    MOXIE_ASSIGN_OR_RETURN(prompts.emplace_back(), EncodeMessages(model, body));
  }
  for (const Prompt& prompt : body.prompts) {
    MOXIE_ASSIGN_OR_RETURN(prompts.emplace_back(), Encode(model, body, prompt));
  }
  return prompts;
}

Result<std::vector<std::vector<int32_t>>> EncodeBadWords(const ServedModel& model,
                                                         const Body& body) {
  const auto count = static_cast<int64_t>(body.bad_words.size());
  if (count > engine::kMaxBadWords) {
    return InvalidArgument("bad_words: at most ", engine::kMaxBadWords, " entries, got ", count);
  }
  text::EncodeOptions as_text;
  as_text.add_special_tokens = false;
  std::vector<std::vector<int32_t>> words;
  for (const std::string& word : body.bad_words) {
    const std::string_view text =
        std::string_view(word).substr(std::min(word.find_first_not_of(" \t\n\v\f\r"), word.size()));
    const auto size = static_cast<int64_t>(word.size());
    if (text.empty() || size > engine::kMaxBadWordBytes) {
      return InvalidArgument("bad_words: a word of 1 to ", engine::kMaxBadWordBytes,
                             " bytes that is not only spaces, got ", size);
    }
    MOXIE_ASSIGN_OR_RETURN(auto plain, model.tokenizer->Encode(text, as_text));
    MOXIE_ASSIGN_OR_RETURN(auto spaced, model.tokenizer->Encode(StrCat(" ", text), as_text));
    const bool differs =
        !spaced.empty() && !plain.empty() && spaced[0] != plain[0] && spaced.size() == plain.size();
    words.push_back(std::move(plain));
    if (differs) words.push_back(std::move(spaced));
  }
  return words;
}

engine::SamplingParams SamplingFor(const ServedModel& model, const Body& body,
                                   int64_t prompt_tokens) {
  engine::SamplingParams params = body.sampling;
  if (!params.max_tokens) {
    // "Up to": where fewer fit, the context or the KV pool ends the answer.
    const engine::RequestLimits limits = model.engine->limits();
    const int64_t left = std::min(limits.max_model_len, limits.pool_tokens) - prompt_tokens;
    const int64_t most = body.chat ? left : std::min(left, kDefaultMaxTokens);
    params.max_tokens = std::max<int64_t>(most, 1);
  }
  // Scoring a prompt, max_tokens 0, is a run for its log-probabilities even when none are shown.
  if (body.echo && !params.prompt_logprobs && (params.logprobs || params.max_tokens == 0)) {
    params.prompt_logprobs = params.logprobs.value_or(0);
  }
  return params;
}

}  // namespace moxie::api
