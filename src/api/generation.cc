#include "api/generation.h"

#include <utility>

#include "api/prompts.h"

namespace moxie::api {
namespace {

using engine::FinishReason;

// The prompt as echo shows it: the text that was sent, or the text of the ids.
std::string PromptText(const ServedModel& model, const Prompt& prompt) {
  if (const auto* text = std::get_if<std::string>(&prompt)) return *text;
  return model.tokenizer->Decode(std::get<std::vector<int32_t>>(prompt));
}

Status ErrorOf(const engine::TokenEvent& event) {
  if (event.finish == FinishReason::kError) return event.error;
  // A reader that went away is not here to be told; so the server ended it.
  if (event.finish == FinishReason::kAbort) return Unavailable("the server is shutting down");
  return {};
}

}  // namespace

Result<std::unique_ptr<Generation>> Generation::Start(const ServedModel& model, Body body,
                                                      std::string request_id, int64_t created,
                                                      const engine::TokenStream::Wake& wake) {
  MOXIE_ASSIGN_OR_RETURN(std::string name, ResolveModel(model, body));
  MOXIE_ASSIGN_OR_RETURN(auto prompts, EncodePrompts(model, body));
  std::unique_ptr<Generation> generation(new Generation(model, std::move(body)));
  generation->head_ = {std::move(request_id), created, std::move(name)};
  MOXIE_RETURN_IF_ERROR(generation->Submit(std::move(prompts), wake));
  return generation;
}

Generation::~Generation() {
  for (Choice& choice : choices_) {
    if (choice.finish == FinishReason::kNone) choice.stream->Abort();
  }
}

Status Generation::Submit(std::vector<std::vector<int32_t>> prompts,
                          const engine::TokenStream::Wake& wake) {
  prompts_ = std::move(prompts);
  if (body_.echo) {
    for (const Prompt& prompt : body_.prompts) prompt_texts_.push_back(PromptText(model_, prompt));
  }
  MOXIE_ASSIGN_OR_RETURN(const auto bad_words, EncodeBadWords(model_, body_));
  for (size_t p = 0; p < prompts_.size(); ++p) {
    engine::Request request;
    request.sampling = SamplingFor(model_, body_, static_cast<int64_t>(prompts_[p].size()));
    request.sampling.bad_words = bad_words;
    for (int64_t i = 0; i < body_.n; ++i) {
      request.id = head_.id;
      request.prompt_ids = prompts_[p];
      request.choice = static_cast<int32_t>(i);
      request.cache_salt = body_.cache_salt;
      request.priority = body_.priority;
      MOXIE_ASSIGN_OR_RETURN(auto stream, model_.engine->Submit(request, wake));
      Choice& choice = choices_.emplace_back();
      choice.index = static_cast<int64_t>(choices_.size()) - 1;
      choice.prompt_ids = &prompts_[p];
      choice.prompt_text = body_.echo ? &prompt_texts_[p] : nullptr;
      choice.stream = std::move(stream);
      ++running_;
    }
  }
  return {};
}

void Generation::Take(const engine::TokenEvent& event, Choice& choice) {
  choice.ids.insert(choice.ids.end(), event.token_ids.begin(), event.token_ids.end());
  choice.cached_tokens = event.cached_tokens;
  if (event.finish == FinishReason::kNone) return;
  choice.finish = event.finish;
  choice.stop_reason = event.stop_reason;
  --running_;
  if (error_.ok()) error_ = ErrorOf(event);
}

// Reads the stream to its end so far: a slow client gets fewer, longer chunks.
Delta Generation::Advance(Choice& choice, std::string& text) {
  Delta delta;
  delta.first_token = choice.ids.size();
  engine::TokenEvent event;
  while (choice.stream->Read(event)) {
    text += event.text;
    Take(event, choice);
  }
  delta.tokens = choice.ids.size() - delta.first_token;
  return delta;
}

JsonObject Generation::Chunk(JsonObject entry) const {
  const Usage so_far = usage();
  return MakeReply(head_, body_.format->chunk_object, {std::move(entry)},
                   body_.continuous_usage ? &so_far : nullptr);
}

void Generation::AppendChunks(Choice& choice, const Delta& delta, std::vector<JsonObject>& chunks) {
  const ReplyFormat& format = *body_.format;
  const size_t before = chunks.size();
  if (delta.first && format.opening != nullptr) chunks.push_back(Chunk(format.opening(choice)));
  chunks.push_back(Chunk(format.chunk_choice(body_, *model_.tokenizer, choice, delta)));
  if (delta.first && format.add_prompt != nullptr) {
    format.add_prompt(body_, *model_.tokenizer, choice, chunks[before]);
  }
}

std::vector<JsonObject> Generation::Read() {
  std::vector<JsonObject> chunks;
  for (Choice& choice : choices_) {
    if (choice.finish != FinishReason::kNone) continue;
    if (!body_.stream) {
      Advance(choice, choice.text);
      continue;
    }
    std::string text;
    Delta delta = Advance(choice, text);
    if (!error_.ok()) return {};  // the error event says it all
    const bool ended = choice.finish != FinishReason::kNone;
    if (delta.tokens == 0 && text.empty() && !ended) continue;
    delta.text = text;
    delta.first = !choice.started;
    choice.started = true;
    AppendChunks(choice, delta, chunks);
  }
  return chunks;
}

JsonObject Generation::Reply() {
  const ReplyFormat& format = *body_.format;
  JsonArray entries;
  for (Choice& choice : choices_) {
    const Delta all = {true, choice.text, 0, choice.ids.size()};
    entries.push_back(format.choice(body_, *model_.tokenizer, choice, all));
  }
  const Usage total = usage();
  JsonObject reply = MakeReply(head_, format.object, std::move(entries), &total);
  if (format.add_prompt != nullptr) {
    format.add_prompt(body_, *model_.tokenizer, choices_.front(), reply);
  }
  return reply;
}

JsonObject Generation::UsageChunk() const {
  const Usage total = usage();
  return MakeReply(head_, body_.format->chunk_object, {}, &total);
}

Usage Generation::usage() const {
  Usage usage;
  for (const auto& prompt : prompts_) usage.prompt_tokens += static_cast<int64_t>(prompt.size());
  for (const Choice& choice : choices_) {
    usage.completion_tokens += static_cast<int64_t>(choice.ids.size());
  }
  // A prompt counts once, however many choices it has; so does what was found of it.
  if (!model_.prompt_tokens_details) return usage;
  usage.cached_tokens = 0;
  for (size_t i = 0; i < choices_.size(); i += static_cast<size_t>(body_.n)) {
    *usage.cached_tokens += choices_[i].cached_tokens;
  }
  return usage;
}

bool Generation::wants_usage() const { return body_.include_usage || model_.force_include_usage; }

}  // namespace moxie::api
