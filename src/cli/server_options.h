// The server's options and memory, from the flags.
#pragma once

#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "memory/plan.h"
#include "server/options.h"

namespace moxie::cli {

// Errors name the flag.
Result<server::ServerOptions> MakeServerOptions(const config::EngineConfig& config);

// What clients can make the server hold, beside the engine's queue and answers. `positions`: tokens
// of all sequences that can run together; `max_logprobs`: alternatives a position.
std::vector<memory::Footprint> ServerFootprints(const server::ServerOptions& options,
                                                int64_t positions, int64_t max_logprobs);

}  // namespace moxie::cli
