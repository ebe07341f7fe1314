// One safetensors file: 8 bytes of header length, a JSON header, and the tensors' bytes.
//
// The checks are those of the reference implementation (safetensors 0.8, Metadata::validate), and
// two more: a name or a field written twice is refused, and so is a field that the format does not
// have.
#pragma once

#include <cstdint>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "weights/stored_tensor.h"

namespace moxie::weights {

// The header's cap, as in the reference implementation.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;
// As much of a file as may come before its tensors: length and header.
inline constexpr size_t kMaxPrefixBytes = 8 + kMaxHeaderBytes;

// The file's tensors in order of their offsets. REQUIRES: kMaxPrefixBytes of it are mapped.
// The header tiles the rest of the file: in order, no
// hole, no overlap, nothing left. Errors name the file and, where there is one, the tensor.
Result<std::vector<StoredTensor>> ReadSafetensorsHeader(const MappedFile& file);

}  // namespace moxie::weights
