#include "config/engine_config.h"

namespace moxie::config {

Result<int64_t> MaxModelLen(const EngineConfig& engine, const ModelConfig& model) {
  int64_t positions = MaxPositions(model);
  int64_t wanted = engine.max_model_len.value_or(positions);
  if (wanted <= positions) return wanted;
  return InvalidArgument("--max-model-len ", wanted, " is more than the model's ", positions,
                         " positions; up to ", positions, " works");
}

}  // namespace moxie::config
