// Intake: makes a request ready for the engine thread. All that the request will ever need is
// allocated here, on the submitter's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/sequence.h"
#include "text/tokenizer.h"

namespace moxie::engine {

class Intake {
 public:
  // `tokenizer` must outlive it and everything that it prepares; so must `options`.
  Intake(const EngineOptions& options, const runtime::StepLimits& step,
         const text::Tokenizer* tokenizer);

  // Thread-safe. kInvalidArgument: the request is refused by Request::Validate. kResourceExhausted:
  // no memory.
  Result<std::unique_ptr<Pending>> Prepare(Request request, TokenStream::Wake wake);

  const RequestLimits& limits() const { return limits_; }

 private:
  const EngineOptions& options_;
  const RequestLimits limits_;
  const text::Tokenizer* const tokenizer_;
  const TokenTextBounds text_bounds_;
  std::atomic<uint64_t> requests_{0};
};

}  // namespace moxie::engine
