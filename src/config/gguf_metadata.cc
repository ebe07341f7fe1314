#include "config/gguf_metadata.h"

#include <cstring>
#include <limits>

namespace moxie::config {
namespace {

// Types of values, by the numbers the format gives them.
enum Type : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
  kTypes
};
constexpr size_t kSize[kTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // 0: not fixed

constexpr uint64_t kMaxKeys = 1 << 16;
constexpr uint64_t kMinKeyBytes = 13;     // a length, a type, a byte of value
constexpr uint64_t kMinTensorBytes = 24;  // a length, a rank, a type, an offset

template <typename T>
T Load(std::string_view data) {
  T value;
  std::memcpy(&value, data.data(), sizeof value);
  return value;
}

bool IsInteger(uint32_t type) {
  return type != kF32 && type != kF64 && type != kBool && type != kString && type != kArray;
}

// The integer at the front of `data`; nullopt for one over int64.
std::optional<int64_t> LoadInteger(uint32_t type, std::string_view data) {
  switch (type) {
    case kU8:
      return Load<uint8_t>(data);
    case kI8:
      return Load<int8_t>(data);
    case kU16:
      return Load<uint16_t>(data);
    case kI16:
      return Load<int16_t>(data);
    case kU32:
      return Load<uint32_t>(data);
    case kI32:
      return Load<int32_t>(data);
    case kI64:
      return Load<int64_t>(data);
    default:
      break;
  }
  uint64_t wide = Load<uint64_t>(data);
  if (wide > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(wide);
}

}  // namespace

// Takes fields off the front of the file; the first problem is kept, and later reads give zeros.
class GgufMetadata::Reader {
 public:
  Reader(std::string_view file, const std::string& where) : file_(file), where_(where) {}

  std::string_view Take(uint64_t bytes, std::string_view what) {
    if (!status_.ok()) return {};
    if (bytes > left()) {
      Fail(StrCat(what, " of ", bytes, " bytes, but ", left(), " are left of the file"));
      return {};
    }
    std::string_view taken = file_.substr(at_, static_cast<size_t>(bytes));
    at_ += taken.size();
    return taken;
  }
  template <typename T>
  T Number(std::string_view what) {
    std::string_view bytes = Take(sizeof(T), what);
    return bytes.empty() ? T{} : Load<T>(bytes);
  }
  std::string_view String(std::string_view what) { return Take(Number<uint64_t>(what), what); }
  Value ReadValue() {
    Value value;
    value.type = Number<uint32_t>("a type");
    value.is_array = value.type == kArray;
    if (value.is_array) {
      value.type = Number<uint32_t>("a type of elements");
      value.count = Number<uint64_t>("a number of elements");
    }
    if (status_.ok() && (value.type >= kTypes || value.type == kArray)) {
      Fail(StrCat("value type ", value.type, value.is_array ? " in an array" : "", " is unknown"));
    }
    if (!status_.ok()) return value;
    size_t begin = at_;
    if (value.type == kString) {
      for (uint64_t i = 0; status_.ok() && i < value.count; ++i) String("a string");
    } else if (value.count > left() / kSize[value.type]) {
      Fail(StrCat(value.count, " elements, but ", left(), " bytes are left of the file"));
    } else {
      Take(value.count * kSize[value.type], "a value");
    }
    value.data = file_.substr(begin, at_ - begin);
    return value;
  }

  void Fail(std::string_view what) {
    if (status_.ok()) status_ = InvalidArgument(where_, ": byte ", at_, ": ", what);
  }
  const Status& status() const { return status_; }
  size_t left() const { return file_.size() - at_; }
  size_t at() const { return at_; }

 private:
  std::string_view file_;
  const std::string& where_;
  size_t at_ = 0;
  Status status_;
};

Result<GgufMetadata> GgufMetadata::Parse(std::string_view file, std::string where) {
  GgufMetadata out;
  out.where_ = std::move(where);
  if (!file.starts_with("GGUF")) return InvalidArgument(out.where_, ": is no GGUF file");
  Reader reader(file, out.where_);
  reader.Take(4, "the magic");
  auto version = reader.Number<uint32_t>("the version");
  out.tensor_count_ = reader.Number<uint64_t>("the number of tensors");
  auto keys = reader.Number<uint64_t>("the number of keys");
  MOXIE_RETURN_IF_ERROR(reader.status());
  if (version != 2 && version != 3) {
    return Unimplemented(out.where_, ": GGUF version ", version, "; 2 and 3 are known");
  }
  if (out.tensor_count_ > reader.left() / kMinTensorBytes) {
    return InvalidArgument(out.where_, ": says it has ", out.tensor_count_, " tensors in ",
                           reader.left(), " bytes");
  }
  if (keys > reader.left() / kMinKeyBytes || keys > kMaxKeys) {
    return InvalidArgument(out.where_, ": says it has ", keys, " keys in ", reader.left(),
                           " bytes; at most ", kMaxKeys, " are read");
  }
  for (uint64_t i = 0; i < keys && reader.status().ok(); ++i) {
    std::string_view key = reader.String("a key");
    if (key.empty()) reader.Fail("a key without a name");
    Value value = reader.ReadValue();
    MOXIE_RETURN_IF_ERROR(reader.status());
    if (!out.values_.emplace(key, value).second) {
      return InvalidArgument(out.where_, ": key \"", key, "\" comes twice");
    }
  }
  out.end_ = reader.at();
  return out;
}

const GgufMetadata::Value* GgufMetadata::Find(std::string_view key, bool is_array) {
  auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  if (found->second.is_array == is_array) return &found->second;
  Fail(key, is_array ? "is not an array" : "is an array");
  return nullptr;
}

void GgufMetadata::Fail(std::string_view key, std::string_view what) {
  if (status_.ok()) status_ = InvalidArgument(where_, ": ", key, ": ", what);
}

std::optional<std::string_view> GgufMetadata::String(std::string_view key) {
  const Value* value = Find(key, false);
  if (value == nullptr) return std::nullopt;
  if (value->type == kString) return value->data.substr(sizeof(uint64_t));
  Fail(key, "is not a string");
  return std::nullopt;
}

std::optional<int64_t> GgufMetadata::Int(std::string_view key) {
  const Value* value = Find(key, false);
  if (value == nullptr) return std::nullopt;
  std::optional<int64_t> integer;
  if (IsInteger(value->type)) integer = LoadInteger(value->type, value->data);
  if (!integer) Fail(key, "is not an integer of 63 bits");
  return integer;
}

std::optional<bool> GgufMetadata::Bool(std::string_view key) {
  const Value* value = Find(key, false);
  if (value == nullptr) return std::nullopt;
  if (value->type == kBool) return value->data[0] != 0;
  Fail(key, "is not a boolean");
  return std::nullopt;
}

std::vector<std::string_view> GgufMetadata::Strings(std::string_view key) {
  std::vector<std::string_view> out;
  const Value* value = Find(key, true);
  if (value == nullptr) return out;
  if (value->type != kString) {
    Fail(key, "is not an array of strings");
    return out;
  }
  out.reserve(static_cast<size_t>(value->count));  // each has 8 bytes of the file at least
  std::string_view data = value->data;
  for (uint64_t i = 0; i < value->count; ++i) {
    auto length = static_cast<size_t>(Load<uint64_t>(data));
    out.push_back(data.substr(sizeof(uint64_t), length));
    data.remove_prefix(sizeof(uint64_t) + length);
  }
  return out;
}

std::vector<float> GgufMetadata::Floats(std::string_view key) {
  std::vector<float> out;
  const Value* value = Find(key, true);
  if (value == nullptr) return out;
  if (value->type != kF32) {
    Fail(key, "is not an array of float32");
    return out;
  }
  out.resize(static_cast<size_t>(value->count));
  if (!out.empty()) std::memcpy(out.data(), value->data.data(), value->data.size());
  return out;
}

std::vector<int32_t> GgufMetadata::Ints(std::string_view key) {
  std::vector<int32_t> out;
  const Value* value = Find(key, true);
  if (value == nullptr) return out;
  if (!IsInteger(value->type)) {
    Fail(key, "is not an array of integers");
    return out;
  }
  out.reserve(static_cast<size_t>(value->count));
  for (uint64_t i = 0; i < value->count; ++i) {
    auto integer = LoadInteger(value->type, value->data.substr(i * kSize[value->type]));
    if (!integer || *integer != static_cast<int32_t>(*integer)) {
      Fail(key, "has an integer of over 32 bits");
      return {};
    }
    out.push_back(static_cast<int32_t>(*integer));
  }
  return out;
}

std::vector<uint8_t> GgufMetadata::Bytes(std::string_view key) {
  const Value* value = Find(key, true);
  if (value == nullptr) return {};
  if (value->type == kU8 || value->type == kI8) return {value->data.begin(), value->data.end()};
  Fail(key, "is not an array of bytes");
  return {};
}

}  // namespace moxie::config
