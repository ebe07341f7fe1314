// ServedModel: what the endpoints need to know of the model behind them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/body.h"
#include "base/json.h"
#include "base/status.h"
#include "config/model_config.h"
#include "engine/engine.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace moxie::api {

struct ServedModel {
  std::vector<std::string> names;  // as clients call it; not empty, the first is the default
  std::string root;                // the directory it came from
  int64_t created = 0;             // Unix time
  int64_t max_model_len = 0;       // tokens
  engine::SamplingParams defaults;
  engine::Engine* engine = nullptr;            // outlives this
  const text::Tokenizer* tokenizer = nullptr;  // outlives this
  // Outlives this; ChatTemplate::None where the model has none, and chat is refused.
  const text::ChatTemplate* chat_template = nullptr;
  bool trust_request_template = false;  // --trust-request-chat-template
  bool prompt_tokens_details = false;   // --enable-prompt-tokens-details
  bool force_include_usage = false;     // --enable-force-include-usage
};

// Sampling of a request that says nothing: generation_config.json's values, else vLLM's.
engine::SamplingParams DefaultSampling(const config::ModelConfig& config);

// The name that a reply carries: the asked one, or the first. kNotFound when it is not served; the
// message names both.
Result<std::string> ResolveModel(const ServedModel& model, const Body& body);

// GET /v1/models.
JsonObject ModelList(const ServedModel& model);
// GET /v1/models/NAME; kNotFound as above.
Result<JsonObject> ModelCard(const ServedModel& model, const std::string& name);

}  // namespace moxie::api
