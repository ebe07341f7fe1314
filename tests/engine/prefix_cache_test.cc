#include "engine/prefix_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/engine/case_file.h"

namespace moxie::engine {
namespace {

// The scope of a request of the case.
PrefixId ScopeOf(const JsonObject& request) {
  std::vector<std::string> values;
  std::vector<ScopePart::Kind> kinds;
  if (request.contains("cache_salt")) {
    kinds.push_back(ScopePart::Kind::kSalt);
    values.push_back(ToString(request.at("cache_salt")));
  }
  if (request.contains("lora")) {
    kinds.push_back(ScopePart::Kind::kLoraName);
    values.push_back(ToString(request.at("lora").at("name")));
    kinds.push_back(ScopePart::Kind::kLoraVersion);
    values.push_back(std::to_string(request.at("lora").at("version").as_int64()));
  }
  std::vector<ScopePart> parts;
  for (size_t i = 0; i < kinds.size(); ++i) parts.push_back({kinds[i], values[i]});
  return MakeScope(parts);
}

TEST(PrefixCache, mem_prefix_key_salt_lora_NoTwoRequestsShareABlock) {
  const Json c = LoadCase("mem-prefix-key-salt-lora");
  PrefixCache cache(64, 4, 1);
  std::set<PrefixId> firsts, seconds;
  int32_t block = 0;
  size_t requests = 0;
  for (const Json& entry : c.at("input").at("requests").as_array()) {
    const JsonObject& request = entry.as_object();
    if (request.contains("cache_salt") && request.at("cache_salt").as_string().empty())
      continue;  // refused before it comes here: request_test
    auto tokens = ToVector<int32_t>(request.contains("tokens") ? request.at("tokens")
                                                               : c.at("input").at("tokens"));
    tokens.resize(4, 4);
    const PrefixId scope = ScopeOf(request);
    EXPECT_EQ(scope, ScopeOf(request));
    EXPECT_FALSE(cache.Find(scope, tokens)) << ToString(request.at("id"));
    const PrefixId first = cache.Name(block++, scope, tokens);
    EXPECT_FALSE(cache.Find(first, tokens));
    const PrefixId second = cache.Name(block++, first, tokens);
    firsts.insert(first);
    seconds.insert(second);
    ++requests;
    ASSERT_TRUE(cache.Find(scope, tokens));
    EXPECT_EQ(cache.Find(scope, tokens)->prefix, first);
    EXPECT_EQ(cache.Find(first, tokens)->block, block - 1);
  }
  EXPECT_EQ(firsts.size(), requests);
  EXPECT_EQ(seconds.size(), requests);
  const ScopePart ab[] = {{ScopePart::Kind::kSalt, "a"}, {ScopePart::Kind::kLoraName, "b"}};
  const ScopePart swapped[] = {{ScopePart::Kind::kSalt, "b"}, {ScopePart::Kind::kLoraName, "a"}};
  EXPECT_NE(MakeScope(ab), MakeScope(swapped));
}

TEST(PrefixCache, TheFirstBlockKeepsTheName) {
  PrefixCache cache(4, 1, 7);
  const PrefixId scope = MakeScope({});
  const int32_t token[] = {5};
  const PrefixId prefix = cache.Name(2, scope, token);
  EXPECT_EQ(cache.Name(3, scope, token), prefix);
  EXPECT_TRUE(cache.Knows(2));
  EXPECT_FALSE(cache.Knows(3));
  cache.Forget(3);
  EXPECT_EQ(cache.Find(scope, token)->block, 2);
  cache.Forget(2);
  EXPECT_FALSE(cache.Find(scope, token));
  EXPECT_NE(cache.Name(3, scope, token), prefix) << "a name is never given twice";
}

TEST(PrefixCache, OffItFindsNothing) {
  PrefixCache cache(4, 2, std::nullopt);
  const int32_t tokens[] = {1, 2};
  EXPECT_FALSE(cache.enabled());
  EXPECT_FALSE(cache.Find(MakeScope({}), tokens));
  EXPECT_FALSE(cache.Knows(0));
  cache.Forget(0);
}

// Against a map, with few blocks and tokens, so that searches run into each other.
TEST(PrefixCache, IsAMapHoweverItsTableIsCrowded) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    PrefixCache cache(7, 2, seed);
    std::map<std::pair<PrefixId, std::vector<int32_t>>, int32_t> map;
    std::vector<PrefixId> prefixes = {MakeScope({})};
    for (int round = 0; round < 500; ++round) {
      const PrefixId before = prefixes[random() % prefixes.size()];
      const std::vector<int32_t> tokens = {static_cast<int32_t>(random() % 2),
                                           static_cast<int32_t>(random() % 2)};
      const auto block = static_cast<int32_t>(random() % 7);
      cache.Forget(block);
      std::erase_if(map, [&](const auto& entry) { return entry.second == block; });
      const auto [entry, fresh] = map.try_emplace({before, tokens}, block);
      const PrefixId named = cache.Name(block, before, tokens);
      if (fresh && prefixes.size() < 5) prefixes.push_back(named);
      ASSERT_TRUE(cache.Check().ok()) << cache.Check().message();
      for (const auto& [name, at] : map) {
        const auto hit = cache.Find(name.first, name.second);
        ASSERT_TRUE(hit);
        ASSERT_EQ(hit->block, at);
      }
    }
  }
}

}  // namespace
}  // namespace moxie::engine
