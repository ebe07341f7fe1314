// Checkpoint: the tensors of a model directory, as the files declare them; nothing is copied yet.
//
// A Hugging Face directory holds model.safetensors, or model.safetensors.index.json and the shards
// it names (only those are read; a path may not leave the directory).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "tensor/dtype.h"

namespace moxie::weights {

// A tensor in a file.
struct StoredTensor {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<int64_t> shape;
  int file = 0;        // index into Checkpoint::files()
  int64_t offset = 0;  // of its first byte in the file
  int64_t bytes = 0;
};

class Checkpoint {
 public:
  // Maps the files and checks every header: lengths, overlaps, offsets inside the file, dtype and
  // shape against the byte count, names unique. Errors name the file and the tensor.
  static Result<Checkpoint> Open(const std::filesystem::path& directory);

  // Null when there is none of that name.
  const StoredTensor* Find(std::string_view name) const;
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::vector<MappedFile>& files() const { return files_; }
  int64_t total_bytes() const;  // of all tensors

 private:
  std::vector<MappedFile> files_;
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace moxie::weights
