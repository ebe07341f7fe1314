// StoredTensor: a tensor as a file declares it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace moxie::weights {

struct StoredTensor {
  std::string name;
  std::string_view dtype_name;  // the file's spelling: "BF16", "F8_E4M3"
  std::optional<tensor::DType>
      dtype;                   // none when the format knows the type and we do not compute on it
  std::vector<int64_t> shape;  // outermost first; empty for a scalar
  int file = 0;                // index into Checkpoint::files()
  int64_t offset = 0;          // of its first byte in the file; not aligned in general
  int64_t bytes = 0;
};

// "[576,1536]"
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace moxie::weights
