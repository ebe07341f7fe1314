#include "text/word_cache.h"

#include <cstring>

namespace moxie::text {

struct alignas(64) WordCache::Slot {
  std::atomic_flag busy;
  uint8_t length = 0;  // 0: empty
  uint8_t count = 0;
  char word[kMaxWord];
  int32_t ids[kMaxIds];

  bool Lock() { return !busy.test_and_set(std::memory_order_acquire); }
  void Unlock() { busy.clear(std::memory_order_release); }
};

WordCache::WordCache() : slots_(new Slot[kSlots]) { static_assert(sizeof(Slot) == 64); }
WordCache::~WordCache() = default;

bool WordCache::Find(std::string_view word, uint64_t hash, std::vector<int32_t>& ids) {
  if (word.size() > kMaxWord) return false;
  Slot& s = slots_[hash % kSlots];
  if (!s.Lock()) return false;
  bool found = s.length == word.size() && std::memcmp(s.word, word.data(), word.size()) == 0;
  if (found) ids.insert(ids.end(), s.ids, s.ids + s.count);
  s.Unlock();
  return found;
}

void WordCache::Insert(std::string_view word, uint64_t hash, const int32_t* ids, size_t count) {
  if (word.size() > kMaxWord || count > kMaxIds) return;
  Slot& s = slots_[hash % kSlots];
  if (!s.Lock()) return;
  s.length = static_cast<uint8_t>(word.size());
  s.count = static_cast<uint8_t>(count);
  std::memcpy(s.word, word.data(), word.size());
  std::memcpy(s.ids, ids, count * sizeof *ids);
  s.Unlock();
}

}  // namespace moxie::text
