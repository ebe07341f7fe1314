#include "cli/server_options.h"

#include <cstdio>

namespace moxie::cli {
namespace {

void LogAccess(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace

server::ServerOptions MakeServerOptions(const config::EngineConfig& config) {
  server::ServerOptions options;
  options.host = config.host;
  options.port = static_cast<uint16_t>(config.port);
  options.api_keys = config.api_keys;
  options.limits.header_bytes = static_cast<uint32_t>(config.max_header_bytes);
  options.limits.header_fields = config.max_header_fields;
  if (!config.disable_access_log) options.access_log = LogAccess;
  return options;
}

std::vector<memory::Footprint> ServerFootprints(const server::ServerOptions& options) {
  const server::Limits& limits = options.limits;
  return {{"server", "bodies", "host", limits.body_pool_bytes, memory::Kind::kBounded,
           "the pool of request bodies"},
          {"server", "connections", "host", limits.connections * limits.header_bytes,
           memory::Kind::kBounded,
           StrCat(limits.connections, " connections x ", limits.header_bytes, " B of header")}};
}

}  // namespace moxie::cli
