// BackendTraits: what a backend wants of the graph it is given.
#pragma once

#include <string_view>
#include <vector>

namespace moxie::backend {

struct BackendTraits {
  std::string_view name;                          // "cpu"
  std::vector<std::string_view> preferred_forms;  // of composites, best first
  int64_t kv_block_tokens;                        // B
  bool plans_temporaries;  // true: consumes a BufferAssignment; false: the plugin assigns and
                           // reports
};

}  // namespace moxie::backend
