#include "engine/prefix_cache.h"

#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

namespace moxie::engine {
namespace {

PrefixId PrefixOf(uint64_t id) { return {id, 0, 0, 0}; }

uint64_t Mix(uint64_t state, uint64_t value) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(state ^ value) * 0x9E3779B97F4A7C15u;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

int64_t TableSize(int64_t blocks) {
  return static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(blocks) + 1));
}

}  // namespace

PrefixId MakeScope(std::span<const ScopePart> parts) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  bool ok = hash != nullptr && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1;
  for (const ScopePart& part : parts) {
    const uint64_t head[] = {static_cast<uint64_t>(part.kind), part.value.size()};
    ok = ok && EVP_DigestUpdate(hash.get(), head, sizeof head) == 1 &&
         EVP_DigestUpdate(hash.get(), part.value.data(), part.value.size()) == 1;
  }
  PrefixId scope{};
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  ok = ok && EVP_DigestFinal_ex(hash.get(), digest, &length) == 1 && length == sizeof scope;
  if (!ok) throw std::bad_alloc();  // nothing else can go wrong in it
  std::memcpy(scope.data(), digest, sizeof scope);
  return scope;
}

PrefixCache::PrefixCache(int64_t blocks, int64_t block_tokens, std::optional<uint64_t> seed)
    : enabled_(seed.has_value()), block_tokens_(block_tokens), seed_(seed.value_or(0)) {
  if (!enabled_) return;
  names_.resize(Index(blocks));
  tokens_.resize(Index(blocks * block_tokens));
  table_.resize(Index(TableSize(blocks)), kEmpty);
  mask_ = table_.size() - 1;
}

int64_t PrefixCache::Bytes(int64_t blocks, int64_t block_tokens) {
  constexpr auto kId = static_cast<int64_t>(sizeof(int32_t));
  return blocks * (static_cast<int64_t>(sizeof(Entry)) + block_tokens * kId) +
         TableSize(blocks) * kId;
}

std::span<const int32_t> PrefixCache::tokens(int32_t block) const {
  return std::span(tokens_).subspan(Index(block * block_tokens_), Index(block_tokens_));
}

uint64_t PrefixCache::Home(const PrefixId& before, std::span<const int32_t> tokens) const {
  uint64_t hash = seed_;
  for (uint64_t word : before) hash = Mix(hash, word);
  for (int32_t token : tokens) hash = Mix(hash, static_cast<uint32_t>(token));
  return Mix(hash, seed_) & mask_;
}

uint64_t PrefixCache::HomeOf(int32_t block) const {
  return Home(names_[Index(block)].before, tokens(block));
}

uint64_t PrefixCache::Place(const PrefixId& before, std::span<const int32_t> wanted) const {
  uint64_t at = Home(before, wanted);
  for (;; at = (at + 1) & mask_) {
    const int32_t block = table_[at];
    if (block == kEmpty) return at;
    if (names_[Index(block)].before == before && std::ranges::equal(tokens(block), wanted))
      return at;
  }
}

std::optional<PrefixCache::Hit> PrefixCache::Find(const PrefixId& before,
                                                  std::span<const int32_t> wanted) const {
  if (!enabled_) return {};
  const int32_t block = table_[Place(before, wanted)];
  if (block == kEmpty) return {};
  return Hit{block, PrefixOf(names_[Index(block)].id)};
}

PrefixId PrefixCache::Name(int32_t block, const PrefixId& before,
                           std::span<const int32_t> contents) {
  int32_t& place = table_[Place(before, contents)];
  if (place == kEmpty) {
    place = block;
    names_[Index(block)] = {before, ++last_id_};
    std::ranges::copy(contents, tokens_.begin() + block * block_tokens_);
  }
  return PrefixOf(names_[Index(place)].id);
}

// Those behind in the same run move up, so that searches never meet a gap (Knuth, TAOCP 3, 6.4 R).
void PrefixCache::Forget(int32_t block) {
  if (!Knows(block)) return;
  uint64_t gap = Place(names_[Index(block)].before, tokens(block));
  names_[Index(block)] = {};
  for (uint64_t at = (gap + 1) & mask_; table_[at] != kEmpty; at = (at + 1) & mask_) {
    const uint64_t home = HomeOf(table_[at]);
    if (((at - home) & mask_) < ((at - gap) & mask_)) continue;  // its home is behind the gap
    table_[gap] = table_[at];
    gap = at;
  }
  table_[gap] = kEmpty;
}

Status PrefixCache::Check() const {
  int64_t named = 0;
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto block = static_cast<int32_t>(i);
    if (!Knows(block)) continue;
    ++named;
    if (table_[Place(names_[i].before, tokens(block))] != block)
      return Internal("prefix cache: block ", block, " is not found by its name");
  }
  const auto listed = std::ranges::count_if(table_, [](int32_t b) { return b != kEmpty; });
  if (listed != named) return Internal("prefix cache: ", named, " names, ", listed, " listed");
  return {};
}

}  // namespace moxie::engine
