#include "weights/shard_index.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/file.h"
#include "weights/json_events.h"

namespace moxie::weights {
namespace {

constexpr size_t kMaxIndexBytes = size_t{64} << 20;

// Purely of the text: a shard may be a link to elsewhere, as in the hub's cache.
bool InsideDirectory(const std::filesystem::path& path) {
  if (path.empty() || path.is_absolute() || !path.has_filename()) return false;
  if (path.native().find('\0') != std::string::npos) return false;
  return std::ranges::none_of(path, [](const auto& part) { return part == ".."; });
}

// Depth 1 is the index, 2 its weight_map.
class IndexSink : public JsonEvents {
 public:
  Result<ShardIndex> Take() {
    if (!found_) return InvalidArgument("has no \"weight_map\"");
    return std::move(index_);
  }

  Status Open(char bracket) override {
    ++depth_;
    if (depth_ == 1 && bracket != '{') return InvalidArgument("is not a JSON object");
    if (depth_ == 2 && in_map_ && bracket != '{') return NotAMap("an array");
    if (depth_ == 3 && in_map_) return NotAName();
    return OkStatus();
  }
  Status Close(char) override {
    --depth_;
    return OkStatus();
  }
  Status Key(std::string_view key) override {
    if (depth_ == 1) {
      in_map_ = key == "weight_map";
      if (in_map_ && std::exchange(found_, true))
        return InvalidArgument("has \"weight_map\" twice");
    }
    if (depth_ == 2) tensor_ = key;
    return OkStatus();
  }
  Status Scalar(const Json& value) override {
    if (depth_ == 0) return InvalidArgument("is not a JSON object");
    if (!in_map_) return OkStatus();
    if (depth_ == 1) return NotAMap(JsonTypeName(value));
    if (!value.is_string()) return NotAName();
    return AddTensor(std::string(value.get_string()));
  }

 private:
  static Status NotAMap(std::string_view found) {
    return InvalidArgument("\"weight_map\" is ", found, ", not an object");
  }
  Status NotAName() const {
    return InvalidArgument("\"weight_map\": the shard of tensor \"", tensor_, "\" is not a string");
  }
  Status AddTensor(std::string shard) {
    if (!InsideDirectory(shard)) {
      return InvalidArgument("\"weight_map\": tensor \"", tensor_, "\" is in \"", shard,
                             "\", which is not a path inside the model's directory");
    }
    auto [number, added] = numbers_.try_emplace(std::move(shard), index_.shards.size());
    if (added) index_.shards.push_back(number->first);
    if (!index_.shard_of.try_emplace(tensor_, number->second).second) {
      return InvalidArgument("\"weight_map\" declares tensor \"", tensor_, "\" twice");
    }
    return OkStatus();
  }

  int depth_ = 0;
  bool in_map_ = false;
  bool found_ = false;
  std::string tensor_;
  ShardIndex index_;
  std::unordered_map<std::string, size_t> numbers_;
};

Result<ShardIndex> Parse(std::string_view text) {
  IndexSink sink;
  MOXIE_RETURN_IF_ERROR(ParseJsonEvents(text, sink));
  return sink.Take();
}

}  // namespace

Result<ShardIndex> ReadShardIndex(const std::filesystem::path& path) {
  MOXIE_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMaxIndexBytes));
  auto index = Parse(text);
  if (!index.ok()) return std::move(index).status().WithContext(path.string());
  return index;
}

}  // namespace moxie::weights
