#include "engine/intake.h"

#include <new>
#include <utility>

#include "engine/sampler.h"

namespace moxie::engine {
namespace {

RequestLimits LimitsOf(const EngineOptions& options, const runtime::StepLimits& step) {
  RequestLimits limits;
  limits.vocab_size = step.vocab_size;
  limits.max_model_len = options.max_model_len;
  limits.pool_tokens = step.num_blocks * step.block_tokens;
  limits.max_logprobs = options.max_logprobs;
  limits.priorities = options.priorities;
  return limits;
}

PrefixId ScopeOf(const Request& request) {
  if (!request.cache_salt) return MakeScope({});
  const ScopePart salt{ScopePart::Kind::kSalt, *request.cache_salt};
  return MakeScope({&salt, 1});
}

}  // namespace

Intake::Intake(const EngineOptions& options, const runtime::StepLimits& step,
               const text::Tokenizer* tokenizer)
    : options_(options),
      limits_(LimitsOf(options, step)),
      tokenizer_(tokenizer),
      text_bounds_(FindTokenTextBounds(*tokenizer)) {}

Result<std::unique_ptr<Pending>> Intake::Prepare(Request request, TokenStream::Wake wake) try {
  MOXIE_RETURN_IF_ERROR(request.Validate(limits_));
  const uint64_t number = ++requests_;
  const int64_t total = request.MaxTotalTokens(limits_);
  const int64_t answer = total - static_cast<int64_t>(request.prompt_ids.size());
  const SamplingParams& params = request.sampling;
  auto stream = std::make_shared<TokenStream>(number, request, answer,
                                              answer * text_bounds_.max_bytes, std::move(wake));
  OutputProcessor output(tokenizer_, text_bounds_, params, options_.eos_token_ids, answer,
                         stream.get());
  const bool seeded = params.seed && *params.seed != -1;  // vLLM: -1 is unset
  const uint64_t seed =
      seeded ? static_cast<uint64_t>(*params.seed) : DrawSeed(options_.seed, number);
  const PrefixId scope = ScopeOf(request);
  return std::make_unique<Pending>(
      Pending{std::move(request), std::move(stream), std::move(output), total, seed, scope});
} catch (const std::bad_alloc&) {
  return ResourceExhausted("no memory for another request");
}

}  // namespace moxie::engine
