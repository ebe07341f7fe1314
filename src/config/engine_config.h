// EngineConfig: all that the operator decides. Filled from the flag table (config/flags.h) only: no
// default lives here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace moxie::config {

// --max-model-len auto: the longest that fits.
inline constexpr int64_t kAutoLength = -1;

struct EngineConfig {
  // Model
  std::string model;                            // directory
  std::string tokenizer;                        // directory; empty: the model's
  std::vector<std::string> served_model_names;  // empty: the path as given
  std::string compute;                   // "bf16", "f32": dtype of activations entering a matmul
  int64_t seed = 0;                      // of requests that bring none
  std::optional<int64_t> max_model_len;  // tokens, or kAutoLength; absent: the model's positions
  int64_t max_logprobs = 0;
  std::string generation_config;  // "auto", "vllm" or a directory

  // Chat
  std::string chat_template;                 // a file or the text itself; empty: the model's
  std::string chat_template_content_format;  // "auto", "string", "openai"
  Json default_chat_template_kwargs;         // an object
  bool trust_request_chat_template = false;  // requests may bring templates of their own
  bool trust_content = false;                // markers spelled in messages are tokens

  // Memory
  double memory_utilization = 0;          // --gpu-memory-utilization
  std::optional<int64_t> kv_cache_bytes;  // --kv-cache-memory-bytes
  std::string kv_cache_dtype;             // "auto", "bfloat16", "float32"
  int64_t block_size = 0;                 // tokens a KV block
  std::optional<int64_t> num_blocks_override;

  bool guard_memory = false;  // --guard-memory: the arena is poisoned between owners

  // Scheduling
  int64_t max_num_batched_tokens = 0;  // T of the largest step
  int64_t max_num_seqs = 0;            // S
  int64_t max_queued_requests = 0;
  int64_t max_queued_tokens = 0;
  int64_t max_request_heap = 0;   // bytes
  std::string scheduling_policy;  // "fcfs", "priority"
  bool prefix_caching = false;    // --enable-prefix-caching

  // Machine
  int threads = 0;  // kernel threads; 0: all cores this process may use

  // Server
  std::string host;  // empty: all interfaces
  int port = 0;      // 0: any free one
  std::vector<std::string> api_keys;
  Json allowed_origins;  // an array of strings, as the two below
  Json allowed_methods;
  Json allowed_headers;
  bool allow_credentials = false;
  bool disable_access_log = false;
  bool prompt_tokens_details = false;  // usage shows prompt tokens found in the prefix cache
  bool force_include_usage = false;    // every stream ends with usage
  int64_t max_header_bytes = 0;        // of one HTTP request
  int64_t max_request_bytes = 0;       // of one HTTP request's body
  int64_t max_header_fields = 0;       // of one HTTP request
  int64_t shutdown_timeout_s = 0;      // that running requests get after SIGTERM
};

}  // namespace moxie::config
