// The few messages of sentencepiece_model.proto that an encoder needs, read from protobuf's wire
// format: a key (field number and type), then a varint, 4 or 8 bytes, or a length and that many
// bytes.
#include <cstring>

#include "text/sentencepiece.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

// One field of a message; `bytes` is set for type 2, `number` for the others.
struct Field {
  uint32_t number = 0;
  uint64_t value = 0;
  std::string_view bytes;
  bool is_bytes = false;

  float AsFloat() const {
    auto bits = static_cast<uint32_t>(value);
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
  }
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}
  // False at the end, or when the bytes are broken (then ok() is false).
  bool Next(Field* field) {
    if (!ok_ || rest_.empty()) return false;
    uint64_t key = Varint();
    *field = {};
    field->number = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        field->value = Varint();
        break;
      case 1:
        field->value = Fixed(8);
        break;
      case 2:
        field->bytes = Bytes();
        field->is_bytes = true;
        break;
      case 5:
        field->value = Fixed(4);
        break;
      default:
        ok_ = false;
    }
    return ok_;
  }
  bool ok() const { return ok_; }

 private:
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  uint64_t Fixed(size_t n) {
    uint64_t value = 0;
    if (rest_.size() < n) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&value, rest_.data(), n);
    rest_.remove_prefix(n);
    return value;
  }
  std::string_view Bytes() {
    uint64_t n = Varint();
    if (!ok_ || n > rest_.size()) {
      ok_ = false;
      return {};
    }
    std::string_view bytes = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return bytes;
  }

  std::string_view rest_;
  bool ok_ = true;
};

bool ReadPiece(std::string_view bytes, SentencePieceModel::Piece* piece) {
  MessageReader reader(bytes);
  for (Field f; reader.Next(&f);) {
    if (f.number == 1 && f.is_bytes) piece->text = f.bytes;
    if (f.number == 2) piece->score = f.AsFloat();
    if (f.number == 3) {
      if (f.value < 1 || f.value > 6) return false;
      piece->type = static_cast<PieceType>(f.value);
    }
  }
  return reader.ok() && IsValidUtf8(piece->text);
}

bool ReadTrainerSpec(std::string_view bytes, SentencePieceModel* model, int64_t* kind) {
  MessageReader reader(bytes);
  for (Field f; reader.Next(&f);) {
    if (f.number == 3) *kind = static_cast<int64_t>(f.value);
    if (f.number == 24) model->treat_whitespace_as_suffix = f.value != 0;
    if (f.number == 35) model->byte_fallback = f.value != 0;
    if (f.number == 41) model->bos_id = static_cast<int32_t>(f.value);
    if (f.number == 42) model->eos_id = static_cast<int32_t>(f.value);
  }
  return reader.ok();
}

bool ReadNormalizerSpec(std::string_view bytes, SentencePieceModel* model) {
  MessageReader reader(bytes);
  for (Field f; reader.Next(&f);) {
    if (f.number == 2 && f.is_bytes) model->charsmap = f.bytes;
    if (f.number == 3) model->add_dummy_prefix = f.value != 0;
    if (f.number == 4) model->remove_extra_whitespaces = f.value != 0;
    if (f.number == 5) model->escape_whitespaces = f.value != 0;
  }
  return reader.ok();
}

}  // namespace

Result<SentencePieceModel> ParseSentencePieceModel(std::string_view bytes,
                                                   const std::string& where) {
  SentencePieceModel model;
  model.bos_id = 1;  // the message's defaults
  model.eos_id = 2;
  int64_t kind = 1;
  MessageReader reader(bytes);
  for (Field f; reader.Next(&f);) {
    bool good = true;
    if (f.number == 1 && f.is_bytes) {
      model.pieces.emplace_back();
      good = ReadPiece(f.bytes, &model.pieces.back());
    } else if (f.number == 2 && f.is_bytes) {
      good = ReadTrainerSpec(f.bytes, &model, &kind);
    } else if (f.number == 3 && f.is_bytes) {
      good = ReadNormalizerSpec(f.bytes, &model);
    }
    if (!good) {
      return DataLoss(where, ": broken SentencePiece message (after ", model.pieces.size(),
                      " pieces)");
    }
  }
  if (!reader.ok() || model.pieces.empty()) {
    return DataLoss(where, ": not a SentencePiece model, or a truncated one (", bytes.size(),
                    " bytes, ", model.pieces.size(), " pieces)");
  }
  if (kind != 1 && kind != 2) {
    return Unimplemented(where, ": SentencePiece model type ", kind,
                         "; unigram (1) and bpe (2) are known");
  }
  model.kind = static_cast<SentencePieceModel::Kind>(kind);
  return model;
}

}  // namespace moxie::text
