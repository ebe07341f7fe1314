#include "server/auth.h"

#include <algorithm>

namespace moxie::server {
namespace {

constexpr std::string_view kGuarded[] = {"/v1", "/v2", "/inference"};
constexpr std::string_view kScheme = "bearer ";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Looks at every byte of `given`, whatever `key` is.
bool EqualInConstantTime(std::string_view given, std::string_view key) {
  if (key.empty()) return false;
  unsigned difference = given.size() == key.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i] ^ key[i % key.size()]);
  }
  return difference == 0;
}

}  // namespace

bool IsGuarded(std::string_view path) {
  return std::ranges::any_of(kGuarded, [&](std::string_view prefix) {
    return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
  });
}

bool Authorized(std::string_view authorization, std::span<const std::string> keys) {
  if (authorization.size() < kScheme.size()) return false;
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  if (!std::ranges::equal(scheme, kScheme, {}, Lower)) return false;
  const std::string_view given = authorization.substr(kScheme.size());
  bool found = false;
  for (const std::string& key : keys) found |= EqualInConstantTime(given, key);
  return found;
}

}  // namespace moxie::server
