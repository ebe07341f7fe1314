#include "ir/attr.h"

namespace moxie::ir {
namespace {

struct KeyRow {
  std::string_view name;
  AttrType type;
};

using enum AttrType;

// In the order of AttrKey.
constexpr KeyRow kKeys[] = {
    {"callee", kText},      {"carries", kInteger}, {"dtype", kText},
    {"eps", kNumber},       {"experts", kInteger}, {"gather", kInteger},
    {"head_dim", kInteger}, {"heads", kInteger},   {"invariants", kInteger},
    {"kv_heads", kInteger}, {"n", kInteger},       {"normalize", kInteger},
    {"scale", kNumber},     {"schema", kText},     {"shift", kNumber},
    {"states", kInteger},   {"top_k", kInteger},   {"value", kNumbers},
    {"window", kInteger},
};

}  // namespace

std::string_view Name(AttrKey key) { return kKeys[static_cast<size_t>(key)].name; }

std::optional<AttrKey> ParseAttrKey(std::string_view name) {
  for (size_t i = 0; i < std::size(kKeys); ++i) {
    if (kKeys[i].name == name) return static_cast<AttrKey>(i);
  }
  return std::nullopt;
}

AttrType TypeOf(AttrKey key) { return kKeys[static_cast<size_t>(key)].type; }

std::string_view Name(AttrType type) {
  constexpr std::string_view kNames[] = {"integer", "number", "text", "list of numbers"};
  return kNames[static_cast<size_t>(type)];
}

bool Holds(AttrType type, const AttrValue& value) {
  switch (type) {
    case kInteger:
      return std::holds_alternative<int64_t>(value);
    case kNumber:
      return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
    case kText:
      return std::holds_alternative<std::string>(value);
    case kNumbers:
      return std::holds_alternative<std::vector<double>>(value);
  }
  return false;
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
  if (const double* d = v ? std::get_if<double>(v) : nullptr) return *d;
  const int64_t* i = v ? std::get_if<int64_t>(v) : nullptr;
  return i ? static_cast<double>(*i) : fallback;
}

std::string_view Attrs::Text(AttrKey key) const {
  const AttrValue* v = Find(key);
  const std::string* s = v ? std::get_if<std::string>(v) : nullptr;
  return s ? std::string_view(*s) : std::string_view();
}

}  // namespace moxie::ir
