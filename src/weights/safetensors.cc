#include "weights/safetensors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "weights/json_events.h"

namespace moxie::weights {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxDims = 32;

// Every dtype of safetensors 0.8.
struct StoredDType {
  std::string_view name;
  int bits;
};
constexpr StoredDType kStoredDTypes[] = {
    {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},
    {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8},     {"I16", 16},
    {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    {"I32", 32}, {"U32", 32},    {"F32", 32},    {"C64", 64},        {"F64", 64},
    {"I64", 64}, {"U64", 64}};

const StoredDType* FindStoredDType(std::string_view name) {
  auto row = std::ranges::find(kStoredDTypes, name, &StoredDType::name);
  return row == std::end(kStoredDTypes) ? nullptr : row;
}

// Bytes that a tensor of this type and shape takes; none when the count overflows or is not whole
// bytes.
std::optional<int64_t> ByteCount(const StoredDType& dtype, const std::vector<int64_t>& shape) {
  int64_t bits = dtype.bits;
  for (int64_t dim : shape) {
    if (__builtin_mul_overflow(bits, dim, &bits)) return std::nullopt;
  }
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

enum class Field { kNone, kMetadata, kDType, kShape, kOffsets };

Field FieldOf(std::string_view key) {
  if (key == "dtype") return Field::kDType;
  if (key == "shape") return Field::kShape;
  if (key == "data_offsets") return Field::kOffsets;
  return Field::kNone;
}

// Builds the tensor list from the header's events. Depth 1 is the header object, 2 a tensor's
// description or __metadata__, 3 a shape or a pair of offsets.
class HeaderSink : public JsonEvents {
 public:
  std::vector<StoredTensor> Take() { return std::move(tensors_); }

  Status Open(char bracket) override {
    ++depth_;
    if (depth_ == 1 && bracket != '{') return InvalidArgument("is not a JSON object");
    if (depth_ == 2 && bracket != '{') return Wrong("is described by an array, not an object");
    if (depth_ == 3) {
      bool list = field_ == Field::kShape || field_ == Field::kOffsets;
      if (!list || bracket != '[') return WrongField(bracket == '{' ? "an object" : "an array");
    }
    if (depth_ == 4) return WrongField("a nested list");
    return OkStatus();
  }

  Status Close(char) override {
    --depth_;
    if (depth_ == 1 && !in_metadata_) return FinishTensor();
    return OkStatus();
  }

  Status Key(std::string_view key) override {
    if (depth_ == 1) return StartEntry(key);
    if (in_metadata_) return Once(metadata_, key, "key");
    field_ = FieldOf(key);
    if (field_ == Field::kNone) return Wrong("has unknown field \"", key, "\"");
    if (std::exchange(seen_[static_cast<size_t>(field_)], true)) {
      return Wrong("has field \"", key, "\" twice");
    }
    return OkStatus();
  }

  Status Scalar(const Json& value) override {
    if (depth_ == 0) return InvalidArgument("is not a JSON object");
    if (depth_ == 1) return Wrong("is described by ", JsonTypeName(value), ", not an object");
    if (in_metadata_) return value.is_string() ? OkStatus() : WrongField(JsonTypeName(value));
    if (depth_ == 3) return AddNumber(value);
    if (field_ != Field::kDType || !value.is_string()) return WrongField(JsonTypeName(value));
    dtype_ = FindStoredDType(value.get_string());
    if (dtype_ == nullptr) return Wrong("has unknown dtype \"", value.get_string(), "\"");
    return OkStatus();
  }

 private:
  template <typename... Parts>
  Status Wrong(const Parts&... parts) const {
    if (in_metadata_) return InvalidArgument("__metadata__ ", parts...);
    return InvalidArgument("tensor \"", tensor_.name, "\" ", parts...);
  }
  Status WrongField(std::string_view found) const {
    switch (field_) {
      case Field::kMetadata:
        return Wrong("has ", found, " as a value; only strings are allowed");
      case Field::kDType:
        return Wrong("has ", found, " as dtype, not a string");
      case Field::kShape:
        return Wrong("has ", found, " in its shape, not integers from 0 to 2^63 - 1");
      default:
        return Wrong("has ", found, " in its data_offsets, not two integers from 0 to 2^63 - 1");
    }
  }
  Status Once(std::unordered_set<std::string>& names, std::string_view key, std::string_view what) {
    if (names.emplace(key).second) return OkStatus();
    return InvalidArgument(what, " \"", key, "\" is declared twice");
  }

  Status StartEntry(std::string_view key) {
    in_metadata_ = key == "__metadata__";
    field_ = in_metadata_ ? Field::kMetadata : Field::kNone;
    tensor_ = {};
    tensor_.name = key;
    dtype_ = nullptr;
    offsets_.clear();
    seen_ = {};
    return Once(names_, key, in_metadata_ ? "key" : "tensor");
  }

  Status AddNumber(const Json& value) {
    if (!value.is_int64() || value.get_int64() < 0) {
      return WrongField(value.is_number() ? DumpJson(value) : JsonTypeName(value));
    }
    std::vector<int64_t>& list = field_ == Field::kShape ? tensor_.shape : offsets_;
    if (list.size() == (field_ == Field::kShape ? kMaxDims : 2))
      return WrongField("too many numbers");
    list.push_back(value.get_int64());
    return OkStatus();
  }

  Status FinishTensor() {
    for (auto [field, name] : {std::pair(Field::kDType, "dtype"), std::pair(Field::kShape, "shape"),
                               std::pair(Field::kOffsets, "data_offsets")}) {
      if (!seen_[static_cast<size_t>(field)]) return Wrong("has no field \"", name, "\"");
    }
    if (offsets_.size() != 2) return Wrong("has ", offsets_.size(), " data_offsets, not 2");
    if (offsets_[1] < offsets_[0]) {
      return Wrong("has data_offsets [", offsets_[0], ",", offsets_[1], "], which run backwards");
    }
    tensor_.dtype_name = dtype_->name;
    tensor_.dtype = tensor::ParseDType(dtype_->name);
    tensor_.offset = offsets_[0];
    tensor_.bytes = offsets_[1] - offsets_[0];
    auto bytes = ByteCount(*dtype_, tensor_.shape);
    if (!bytes) {
      return Wrong("has shape ", ShapeText(tensor_.shape), " of ", dtype_->name,
                   ", which is no number of bytes under 2^60");
    }
    if (*bytes != tensor_.bytes) {
      return Wrong("has shape ", ShapeText(tensor_.shape), " of ", dtype_->name, ", ", *bytes,
                   " bytes, but data_offsets give it ", tensor_.bytes);
    }
    tensors_.push_back(std::move(tensor_));
    return OkStatus();
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  Field field_ = Field::kNone;
  StoredTensor tensor_;                 // the one being read
  const StoredDType* dtype_ = nullptr;  // its dtype
  std::vector<int64_t> offsets_;        // its data_offsets
  std::array<bool, 5> seen_{};          // its fields so far
  std::vector<StoredTensor> tensors_;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> metadata_;
};

// The header's text.
Result<std::string_view> HeaderText(std::span<const std::byte> bytes, size_t file_bytes) {
  if (file_bytes < kLengthBytes) {
    return DataLoss("is ", file_bytes,
                    " bytes long; a safetensors file begins with 8 bytes of header length");
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    length |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  if (length > kMaxHeaderBytes) {
    return InvalidArgument("header length ", length, " is over the limit of ", kMaxHeaderBytes);
  }
  if (length > file_bytes - kLengthBytes) {
    return DataLoss("header length is ", length, ", but the file has only ",
                    file_bytes - kLengthBytes,
                    " bytes after it: truncated, or not a safetensors file");
  }
  return std::string_view(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
}

// The tensors' ranges must tile [0, data_bytes); makes offsets count from the file's start.
Status PlaceInFile(std::vector<StoredTensor>& tensors, int64_t data_begin, int64_t data_bytes) {
  std::ranges::stable_sort(tensors, {},
                           [](const StoredTensor& t) { return std::pair(t.offset, t.bytes); });
  int64_t end = 0;
  for (StoredTensor& t : tensors) {
    if (t.offset != end) {
      return InvalidArgument("tensor \"", t.name, "\" begins at byte ", t.offset, " of the data, ",
                             t.offset < end ? "inside the tensor before it" : "after a hole",
                             "; expected ", end);
    }
    if (t.bytes > data_bytes - end) {
      return DataLoss("truncated: tensor \"", t.name, "\" needs bytes ", t.offset, " to ",
                      t.offset + t.bytes, " of the data, but the file holds ", data_bytes);
    }
    end += t.bytes;
    t.offset += data_begin;
  }
  if (end != data_bytes) {
    return InvalidArgument(data_bytes - end, " bytes at the end belong to no tensor");
  }
  return OkStatus();
}

Result<std::vector<StoredTensor>> ReadHeader(std::span<const std::byte> bytes, size_t file_bytes) {
  MOXIE_ASSIGN_OR_RETURN(std::string_view text, HeaderText(bytes, file_bytes));
  HeaderSink sink;
  Status parsed = ParseJsonEvents(text, sink);
  if (!parsed.ok()) return std::move(parsed).WithContext("header");
  std::vector<StoredTensor> tensors = sink.Take();
  const auto data_begin = static_cast<int64_t>(kLengthBytes + text.size());
  MOXIE_RETURN_IF_ERROR(
      PlaceInFile(tensors, data_begin, static_cast<int64_t>(file_bytes) - data_begin));
  return tensors;
}

}  // namespace

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ',';
    out += StrCat(shape[i]);
  }
  return out + "]";
}

Result<std::vector<StoredTensor>> ReadSafetensorsHeader(const MappedFile& file) {
  auto tensors = ReadHeader(file.bytes(), file.size());
  if (!tensors.ok()) return std::move(tensors).status().WithContext(file.path().string());
  return tensors;
}

}  // namespace moxie::weights
