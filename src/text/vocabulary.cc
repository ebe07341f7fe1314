#include "text/vocabulary.h"

#include <cstring>

namespace moxie::text {

uint64_t HashBytes(std::string_view bytes) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15ull;
  uint64_t h = bytes.size() * kMultiplier;
  const char* p = bytes.data();
  size_t n = bytes.size();
  auto mix = [&h](uint64_t word) {
    h = (h ^ word) * kMultiplier;
    h ^= h >> 32;
  };
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    mix(word);
  }
  uint64_t word = 0;
  if (n > 0) std::memcpy(&word, p, n);
  mix(word);
  return h;
}

void Vocabulary::Reserve(size_t tokens, size_t bytes) {
  bytes_.reserve(bytes);
  pieces_.reserve(tokens);
  size_t slots = 16;
  while (slots < tokens * 2) slots *= 2;
  if (slots > slots_.size()) Grow(slots);
}

Vocabulary::Slot* Vocabulary::FindSlot(uint32_t hash, std::string_view piece) {
  size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Slot& s = slots_[i];
    if (s.id < 0 || (s.hash == hash && View(s.piece) == piece)) return &s;
  }
}

void Vocabulary::Grow(size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& s : old) {
    if (s.id >= 0) *FindSlot(s.hash, View(s.piece)) = s;
  }
}

Status Vocabulary::Add(std::string_view piece, int64_t id) {
  if (id < 0 || id > kMaxTokenId) {
    return InvalidArgument("token \"", piece, "\" has id ", id, ", expected 0 to ", kMaxTokenId);
  }
  if (bytes_.size() + piece.size() >= kNone) return InvalidArgument("the vocabulary is over 4 GiB");
  if (slots_.size() < 2 * (count_ + 1)) Grow(slots_.empty() ? 16 : slots_.size() * 2);
  auto hash = static_cast<uint32_t>(HashBytes(piece) >> 32);
  Slot* slot = FindSlot(hash, piece);
  if (slot->id < 0) {
    slot->hash = hash;
    slot->piece = {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(piece.size())};
    bytes_ += piece;
    ++count_;
  } else if (slot->id != id) {
    pieces_[static_cast<size_t>(slot->id)] = {};
  }
  slot->id = static_cast<int32_t>(id);
  if (pieces_.size() <= static_cast<size_t>(id)) pieces_.resize(static_cast<size_t>(id) + 1);
  pieces_[static_cast<size_t>(id)] = slot->piece;
  return OkStatus();
}

std::optional<int32_t> Vocabulary::Find(std::string_view piece, uint64_t full_hash) const {
  if (slots_.empty()) return std::nullopt;
  auto hash = static_cast<uint32_t>(full_hash >> 32);
  size_t mask = slots_.size() - 1;
  for (size_t i = Index(full_hash); slots_[i].id >= 0; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && View(slots_[i].piece) == piece) return slots_[i].id;
  }
  return std::nullopt;
}

std::optional<std::string_view> Vocabulary::Piece(int32_t id) const {
  auto i = static_cast<size_t>(id);
  if (id < 0 || i >= pieces_.size() || pieces_[i].length == kNone) return std::nullopt;
  return View(pieces_[i]);
}

}  // namespace moxie::text
