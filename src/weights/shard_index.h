// model.safetensors.index.json: which shard holds which tensor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace moxie::weights {

struct ShardIndex {
  std::vector<std::string> shards;         // file names, in order of first mention
  std::map<std::string, size_t> shard_of;  // tensor name -> index into `shards`
};

// Reads the file's "weight_map"; what else it holds ("metadata") says nothing about where tensors
// are. Refused: a name declared twice, a shard that is not a relative path inside the directory.
Result<ShardIndex> ReadShardIndex(const std::filesystem::path& path);

}  // namespace moxie::weights
