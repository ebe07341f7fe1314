#include "ir/attr.h"

namespace moxie::ir {
namespace {

// In the order of AttrKey.
constexpr std::string_view kNames[] = {
    "callee", "carries",    "dtype",    "eps",   "experts",   "gather", "head_dim",
    "heads",  "invariants", "kv_heads", "n",     "normalize", "scale",  "schema",
    "shift",  "states",     "top_k",    "value", "window",
};

}  // namespace

std::string_view Name(AttrKey key) { return kNames[static_cast<size_t>(key)]; }

std::optional<AttrKey> ParseAttrKey(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<AttrKey>(i);
  }
  return std::nullopt;
}

const AttrValue* Attrs::Find(AttrKey key) const {
  for (const auto& [k, v] : items_) {
    if (k == key) return &v;
  }
  return nullptr;
}

void Attrs::Set(AttrKey key, AttrValue value) {
  for (auto& [k, v] : items_) {
    if (k == key) {
      v = std::move(value);
      return;
    }
  }
  items_.emplace_back(key, std::move(value));
}

int64_t Attrs::Int(AttrKey key, int64_t fallback) const {
  const AttrValue* v = Find(key);
  const int64_t* i = v ? std::get_if<int64_t>(v) : nullptr;
  return i ? *i : fallback;
}

double Attrs::Double(AttrKey key, double fallback) const {
  const AttrValue* v = Find(key);
  const double* d = v ? std::get_if<double>(v) : nullptr;
  return d ? *d : fallback;
}

std::string_view Attrs::Text(AttrKey key) const {
  const AttrValue* v = Find(key);
  const std::string* s = v ? std::get_if<std::string>(v) : nullptr;
  return s ? std::string_view(*s) : std::string_view();
}

}  // namespace moxie::ir
