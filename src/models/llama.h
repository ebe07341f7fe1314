#pragma once

#include "models/family.h"

namespace moxie::models {

Result<ir::Graph> BuildLlama(const config::ModelConfig& config, const GraphOptions& options);

}  // namespace moxie::models
