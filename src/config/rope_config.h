// Reads RopeConfig from config.json: `rope_theta` + `rope_scaling` (transformers 4) or
// `rope_parameters` (5).
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/status.h"
#include "config/model_config.h"

namespace moxie::config {

// `where` names the file in messages. Types other than default, linear, llama3 and yarn are refused
// by name.
Result<RopeConfig> ParseRopeConfig(const JsonObject& config, const std::string& where,
                                   double default_theta, int64_t max_position_embeddings);

}  // namespace moxie::config
