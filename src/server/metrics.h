// GET /metrics: Prometheus text 0.0.4, with vLLM's names.
#pragma once

#include <string>
#include <string_view>

#include "engine/stats.h"

namespace moxie::server {

// `"` , `\` and line feed escaped: what a label's value may hold.
std::string EscapeLabel(std::string_view value);

std::string MetricsText(const engine::EngineStats& stats, std::string_view model_name);

}  // namespace moxie::server
