#include "weights/checkpoint.h"

#include <system_error>
#include <utility>

#include "weights/safetensors.h"
#include "weights/shard_index.h"

namespace moxie::weights {
namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr size_t kMaxNamed = 10;  // names in one message

bool Exists(const std::filesystem::path& path) {
  std::error_code ec;
  return std::filesystem::exists(path, ec);
}

// Names those that are not there, before any of them is opened.
Status CheckPresent(const std::filesystem::path& directory,
                    const std::vector<std::string>& shards) {
  std::string missing;
  size_t count = 0;
  for (const std::string& shard : shards) {
    if (Exists(directory / shard)) continue;
    if (++count <= kMaxNamed) missing += StrCat(count > 1 ? ", " : "", shard);
  }
  if (count == 0) return OkStatus();
  if (count > kMaxNamed) missing += ", ...";
  return NotFound(directory.string(), ": ", count, " of the ", shards.size(), " files that ",
                  kIndexFile, " names ", count == 1 ? "is" : "are", " missing: ", missing);
}

}  // namespace

Result<Checkpoint> Checkpoint::Open(const std::filesystem::path& directory) {
  std::error_code ec;
  if (!std::filesystem::is_directory(directory, ec)) {
    if (!Exists(directory)) return NotFound(directory.string(), ": no such directory");
    return InvalidArgument(directory.string(), ": is not a directory");
  }
  Checkpoint checkpoint;
  checkpoint.directory_ = directory;
  if (Exists(directory / kSingleFile)) {
    MOXIE_RETURN_IF_ERROR(checkpoint.AddFile(directory / kSingleFile));
  } else if (Exists(directory / kIndexFile)) {
    MOXIE_RETURN_IF_ERROR(checkpoint.AddShards(directory / kIndexFile));
  } else {
    return NotFound(directory.string(), ": has neither ", kSingleFile, " nor ", kIndexFile);
  }
  return checkpoint;
}

Status Checkpoint::AddFile(const std::filesystem::path& path) {
  MOXIE_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path, kMaxPrefixBytes));
  MOXIE_ASSIGN_OR_RETURN(auto tensors, ReadSafetensorsHeader(file));
  file.Unmap();
  for (StoredTensor& tensor : tensors) {
    tensor.file = static_cast<int>(files_.size());
    if (!by_name_.try_emplace(tensor.name, tensors_.size()).second) {
      return InvalidArgument(path.string(), ": tensor \"", tensor.name, "\" is also in ",
                             files_[static_cast<size_t>(Find(tensor.name)->file)].path().string());
    }
    tensors_.push_back(std::move(tensor));
  }
  files_.push_back(std::move(file));
  return OkStatus();
}

Status Checkpoint::AddShards(const std::filesystem::path& index_path) {
  MOXIE_ASSIGN_OR_RETURN(ShardIndex index, ReadShardIndex(index_path));
  MOXIE_RETURN_IF_ERROR(CheckPresent(directory_, index.shards));
  for (const std::string& shard : index.shards) MOXIE_RETURN_IF_ERROR(AddFile(directory_ / shard));
  for (const auto& [name, shard] : index.shard_of) {
    const StoredTensor* tensor = Find(name);
    if (tensor == nullptr || static_cast<size_t>(tensor->file) != shard) {
      return NotFound((directory_ / index.shards[shard]).string(), ": has no tensor \"", name,
                      "\", which ", kIndexFile, " says it has");
    }
  }
  for (const StoredTensor& tensor : tensors_) {
    if (index.shard_of.contains(tensor.name)) continue;
    return InvalidArgument(files_[static_cast<size_t>(tensor.file)].path().string(), ": tensor \"",
                           tensor.name, "\" is not in ", kIndexFile);
  }
  return OkStatus();
}

const StoredTensor* Checkpoint::Find(std::string_view name) const {
  const int64_t index = IndexOf(name);
  return index < 0 ? nullptr : &tensors_[static_cast<size_t>(index)];
}

int64_t Checkpoint::IndexOf(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : static_cast<int64_t>(found->second);
}

int64_t Checkpoint::total_bytes() const {
  int64_t total = 0;
  for (const StoredTensor& tensor : tensors_) total += tensor.bytes;
  return total;
}

}  // namespace moxie::weights
