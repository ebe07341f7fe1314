#include "cli/server_options.h"

#include <cstdio>
#include <utility>

namespace moxie::cli {
namespace {

// Full bodies that may be read at a time.
constexpr int64_t kBodiesAtOnce = 16;
// A body of unknown length is read into a string that grows by doubling.
constexpr int64_t kStringSlack = 2;
// Heap that parsing and tokenising take a byte of body, the body included, at worst: a long text
// of which every byte becomes a token. The worst of nine tokenizers took 48 (tests/e2e).
constexpr int64_t kParsedBytes = 52;
// Of a position in an answer that is put together as JSON: its token and each alternative. A chat
// answer took 450 an entry with tokens of a few bytes (tests/e2e).
constexpr int64_t kReplyPosition = 64;
constexpr int64_t kReplyEntry = 640;
// Beside its header: the session's frames and buffers.
constexpr int64_t kSessionBytes = 16 << 10;

// A JSON list of strings, as the value of a flag.
Result<std::vector<std::string>> Words(std::string_view flag, const Json& value) {
  std::vector<std::string> words;
  for (const Json& word : value.is_array() ? value.get_array() : JsonArray{nullptr}) {
    if (!word.is_string()) {
      return InvalidArgument(flag, ": expected a JSON list of strings, as [\"*\"], got ",
                             DumpJson(value));
    }
    words.emplace_back(word.get_string());
  }
  return words;
}

Result<server::CorsOptions> MakeCorsOptions(const config::EngineConfig& config) {
  server::CorsOptions cors;
  MOXIE_ASSIGN_OR_RETURN(cors.origins, Words("--allowed-origins", config.allowed_origins));
  MOXIE_ASSIGN_OR_RETURN(cors.methods, Words("--allowed-methods", config.allowed_methods));
  MOXIE_ASSIGN_OR_RETURN(cors.headers, Words("--allowed-headers", config.allowed_headers));
  cors.credentials = config.allow_credentials;
  return cors;
}

void LogAccess(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace

Result<server::ServerOptions> MakeServerOptions(const config::EngineConfig& config) {
  server::ServerOptions options;
  options.host = config.host;
  options.port = static_cast<uint16_t>(config.port);
  options.api_keys = config.api_keys;
  MOXIE_ASSIGN_OR_RETURN(options.cors, MakeCorsOptions(config));
  options.limits.header_bytes = static_cast<uint32_t>(config.max_header_bytes);
  options.limits.header_fields = config.max_header_fields;
  options.limits.body_bytes = config.max_request_bytes;
  options.limits.body_pool_bytes = kBodiesAtOnce * config.max_request_bytes;
  if (!config.disable_access_log) options.access_log = LogAccess;
  return options;
}

std::vector<memory::Footprint> ServerFootprints(const server::ServerOptions& options,
                                                int64_t positions, int64_t max_logprobs) {
  const server::Limits& limits = options.limits;
  auto term = [](const char* name, int64_t bytes, std::string formula) {
    return memory::Footprint{"server",          name, "host", bytes, memory::Kind::kBounded,
                             std::move(formula)};
  };
  return {term("bodies", limits.body_pool_bytes * kStringSlack,
               StrCat("the pool of request bodies, ", limits.body_pool_bytes, " B x ", kStringSlack,
                      ": strings grow by doubling")),
          term("parsing", options.threads * limits.body_bytes * kParsedBytes,
               StrCat(options.threads, " parsers x a body of ", limits.body_bytes, " B x ",
                      kParsedBytes, " of JSON, text and tokens")),
          term("replies", positions * (kReplyPosition + kReplyEntry * (max_logprobs + 1)),
               StrCat(positions, " tokens that can run together x (", kReplyPosition, " + ",
                      kReplyEntry, " x (", max_logprobs, " + 1 logprobs)) B, read as they come")),
          term("connections", limits.connections * (limits.header_bytes + kSessionBytes),
               StrCat(limits.connections, " connections x (", limits.header_bytes,
                      " B of header + ", kSessionBytes, ")"))};
}

}  // namespace moxie::cli
