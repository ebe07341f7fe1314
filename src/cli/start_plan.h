// The plan of a start, as a pure function: what the files and the machine say is read once, then
// any settings can be planned, also those that nobody asked for (cli/nearest_fit.h).
#pragma once

#include <memory>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_config.h"
#include "engine/engine.h"
#include "memory/plan.h"
#include "memory/process.h"
#include "runtime/model_plan.h"
#include "server/options.h"
#include "text/tokenizer.h"

namespace moxie::cli {

// What does not depend on settings, but for the paths and the share of memory in them.
struct StartFacts {
  config::ModelConfig model;
  std::shared_ptr<const text::Tokenizer> tokenizer;  // null: the model directory has none
  int64_t tokenizer_bytes = 0;                       // of the heap
  int64_t token_text_bytes = 0;                      // of the longest token
  memory::Budget budget;
  memory::ProcessFacts process;
};

// Reads config.json and the tokenizer; asks the system for its limits.
Result<StartFacts> ReadStartFacts(const config::EngineConfig& config);

// All that is decided before a byte of the model is allocated.
struct StartPlan {
  runtime::ModelPlan model;                          // its KV cache is sized
  std::shared_ptr<const text::Tokenizer> tokenizer;  // null: the model directory has none
  engine::EngineOptions options;
  server::ServerOptions server;
  memory::MemoryPlan memory;  // every term, the KV cache included
};

// Milliseconds; reads no file. kResourceExhausted, with the arithmetic: these settings do not fit.
// REQUIRES: max_model_len is not kAutoLength.
Result<StartPlan> PlanFrom(const config::EngineConfig& config, const StartFacts& facts);

}  // namespace moxie::cli
