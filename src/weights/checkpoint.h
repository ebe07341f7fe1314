// Checkpoint: the tensors of a model directory, as the files declare them; nothing is copied yet.
//
// A Hugging Face directory holds model.safetensors, or model.safetensors.index.json and the shards
// it names (only those are read; a path may not leave the directory). Where both exist the single
// file is the model, as transformers reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "weights/stored_tensor.h"

namespace moxie::weights {

class Checkpoint {
 public:
  // Maps the files and checks every header: lengths, overlaps, offsets inside the file, dtype and
  // shape against the byte count, names unique, every tensor in the shard that the index says.
  // Errors name the file and the tensor.
  static Result<Checkpoint> Open(const std::filesystem::path& directory);

  // Null when there is none of that name.
  const StoredTensor* Find(std::string_view name) const;
  // Index into tensors(); -1 when there is none of that name.
  int64_t IndexOf(std::string_view name) const;
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::vector<MappedFile>& files() const { return files_; }
  const std::filesystem::path& directory() const { return directory_; }
  int64_t total_bytes() const;  // of all tensors

 private:
  // Lets names be looked up by string_view.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };

  Status AddFile(const std::filesystem::path& path);
  Status AddShards(const std::filesystem::path& index);

  std::filesystem::path directory_;
  std::vector<MappedFile> files_;
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> by_name_;
};

}  // namespace moxie::weights
