// Writes safetensors files for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/status.h"

namespace moxie::weights {

struct TensorToWrite {
  std::string name;
  std::string dtype;  // "BF16"
  std::vector<int64_t> shape;
  std::string bytes;  // row-major, little-endian
};

// `blanks` of padding make the data begin at any alignment.
inline void WriteSafetensors(const std::filesystem::path& path,
                             const std::vector<TensorToWrite>& tensors, size_t blanks = 0) {
  std::string header = "{";
  size_t offset = 0;
  for (const TensorToWrite& t : tensors) {
    std::string shape;
    for (int64_t dim : t.shape) shape += StrCat(shape.empty() ? "" : ",", dim);
    header += StrCat(header.size() > 1 ? "," : "", "\"", t.name, "\":{\"dtype\":\"", t.dtype,
                     "\",\"shape\":[", shape, "],\"data_offsets\":[", offset, ",",
                     offset + t.bytes.size(), "]}");
    offset += t.bytes.size();
  }
  header += "}" + std::string(blanks, ' ');
  std::ofstream out(path, std::ios::binary);
  const uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header;
  for (const TensorToWrite& t : tensors) out << t.bytes;
}

}  // namespace moxie::weights
