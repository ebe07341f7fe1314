// Recently encoded words: a fixed table, a slot a word, the newest wins. Any thread may use it;
// a slot that another thread holds is passed by.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace moxie::text {

class WordCache {
 public:
  static constexpr size_t kSlots = size_t{1} << 15;  // 2 MiB in all
  static constexpr size_t kMaxWord = 31;
  static constexpr size_t kMaxIds = 7;

  WordCache();
  ~WordCache();

  // Appends the ids of `word` if it is here.
  bool Find(std::string_view word, uint64_t hash, std::vector<int32_t>& ids);
  // Keeps `word` when it and its ids are short enough.
  void Insert(std::string_view word, uint64_t hash, const int32_t* ids, size_t count);

 private:
  struct Slot;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace moxie::text
