// The key-value pairs at the head of a GGUF file (versions 2 and 3, little-endian).
//
// Every count and length is checked against what is left of the file before it is used, and nothing
// is copied: a GgufMetadata refers to the bytes it was read from. Arrays of arrays, which no model
// has, are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace moxie::config {

class GgufMetadata {
 public:
  // `file`: the file's bytes from the first on, which must outlive the result. `where` starts every
  // error.
  static Result<GgufMetadata> Parse(std::string_view file, std::string where);

  // Absent is nullopt, or an empty list. A value of another type, or out of the range asked for, is
  // an error that status() keeps; the first one counts.
  std::optional<std::string_view> String(std::string_view key);
  std::optional<int64_t> Int(std::string_view key);
  std::optional<bool> Bool(std::string_view key);
  std::vector<std::string_view> Strings(std::string_view key);
  std::vector<float> Floats(std::string_view key);
  std::vector<int32_t> Ints(std::string_view key);
  std::vector<uint8_t> Bytes(std::string_view key);

  const Status& status() const { return status_; }
  uint64_t tensor_count() const { return tensor_count_; }
  // Where the table of tensors begins.
  size_t end() const { return end_; }

 private:
  struct Value {
    uint32_t type = 0;  // of the value, or of an array's elements
    bool is_array = false;
    uint64_t count = 1;
    std::string_view data;
  };
  class Reader;

  const Value* Find(std::string_view key, bool is_array);
  void Fail(std::string_view key, std::string_view what);

  std::string where_;
  std::unordered_map<std::string_view, Value> values_;
  Status status_;
  uint64_t tensor_count_ = 0;
  size_t end_ = 0;
};

}  // namespace moxie::config
