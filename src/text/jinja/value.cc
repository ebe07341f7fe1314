#include "text/jinja/value.h"

#include <algorithm>
#include <boost/json/kind.hpp>

#include "text/jinja/ops.h"
#include "text/jinja/reaper.h"

namespace moxie::text::jinja {
namespace {

constexpr size_t kIndexFrom = 8;  // smaller dicts are searched item by item

}  // namespace

std::string IntToString(Int value) {
  if (value == 0) return "0";
  bool negative = value < 0;
  unsigned __int128 magnitude =
      negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string digits;
  for (; magnitude > 0; magnitude /= 10) digits += static_cast<char>('0' + int(magnitude % 10));
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

Sequence::Sequence(std::vector<Value> values)
    : items(std::move(values)), charge(sizeof(Sequence) + items.capacity() * sizeof(Value)) {}

Sequence::~Sequence() { Reap(std::move(items)); }

Dict::~Dict() {
  std::vector<Value> values;
  values.reserve(items_.size());
  for (Item& item : items_) values.push_back(std::move(item.value));
  Reap(std::move(values));
}

Dict Dict::Copy() const {
  Dict copy;
  for (const Item& item : items_) copy.Set(item.key, item.value);
  return copy;
}

Int RangeValue::length() const {
  if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

std::optional<Value> Object::Attribute(Interp&, std::string_view) { return std::nullopt; }

Value Object::Call(Interp&, Args) {
  Raise("TypeError", "'", type_name(), "' object is not callable");
}

Value Value::List(std::vector<Value> items) {
  Value value;
  value.storage_ = std::make_shared<const Sequence>(std::move(items));
  return value;
}

Value Value::Tuple(std::vector<Value> items) {
  Value value;
  value.storage_ = TuplePtr{std::make_shared<const Sequence>(std::move(items))};
  return value;
}

Value Value::GroupTuple(Value grouper, Value list) {
  auto sequence =
      std::make_shared<Sequence>(std::vector<Value>{std::move(grouper), std::move(list)});
  sequence->group = true;
  Value value;
  value.storage_ = TuplePtr{std::move(sequence)};
  return value;
}

Value Value::Undefined(std::string message, const char* error) {
  Value value;
  value.storage_ = std::make_shared<const UndefinedInfo>(UndefinedInfo{error, std::move(message)});
  return value;
}

const std::vector<Value>* Value::items() const {
  if (auto* list = get<ListPtr>()) return &(*list)->items;
  if (auto* tuple = get<TuplePtr>()) return &tuple->ptr->items;
  return nullptr;
}

const Dict* Value::dict() const {
  auto* dict = get<DictPtr>();
  return dict != nullptr ? dict->get() : nullptr;
}

const UndefinedInfo* Value::undefined() const {
  auto* info = get<std::shared_ptr<const UndefinedInfo>>();
  return info != nullptr ? info->get() : nullptr;
}

Object* Value::object() const {
  auto* object = get<std::shared_ptr<Object>>();
  return object != nullptr ? object->get() : nullptr;
}

Iterator* Value::iterator() const {
  auto* it = get<std::shared_ptr<Iterator>>();
  return it != nullptr ? it->get() : nullptr;
}

bool Value::Is(const Value& other) const {
  if (storage_.index() != other.storage_.index()) return false;
  return std::visit(
      [&](const auto& mine) {
        using T = std::decay_t<decltype(mine)>;
        const T& theirs = *other.get<T>();
        if constexpr (std::is_same_v<T, None>) {
          return true;
        } else if constexpr (std::is_same_v<T, TuplePtr>) {
          return mine.ptr == theirs.ptr || (mine.ptr->items.empty() && theirs.ptr->items.empty());
        } else if constexpr (std::is_same_v<T, View> || std::is_same_v<T, RangeValue>) {
          return &mine == &theirs;
        } else {
          return mine == theirs;
        }
      },
      storage_);
}

Value Value::FromJson(const Json& json, Origin origin) {
  switch (json.kind()) {
    case boost::json::kind::null:
      return None{};
    case boost::json::kind::bool_:
      return json.get_bool();
    case boost::json::kind::int64:
      return Int{json.get_int64()};
    case boost::json::kind::uint64:
      return Int{json.get_uint64()};
    case boost::json::kind::double_:
      return json.get_double();
    case boost::json::kind::string:
      return Text(std::string(std::string_view(json.get_string())), origin);
    case boost::json::kind::array: {
      std::vector<Value> items;
      items.reserve(json.get_array().size());
      for (const Json& item : json.get_array()) items.push_back(FromJson(item, origin));
      return List(std::move(items));
    }
    case boost::json::kind::object: {
      auto dict = std::make_shared<Dict>();
      for (const auto& member : json.get_object()) {
        dict->Set(Text(std::string(std::string_view(member.key())), origin),
                  FromJson(member.value(), origin));
      }
      return DictPtr(std::move(dict));
    }
  }
  return None{};
}

const Dict::Item* Dict::Lookup(const Value& key, uint64_t hash) const {
  if (index_.empty()) {
    for (const Item& item : items_) {
      if (Hash(item.key) == hash && (item.key.Is(key) || Equals(item.key, key))) return &item;
    }
    return nullptr;
  }
  auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Item& item = items_[it->second];
    if (item.key.Is(key) || Equals(item.key, key)) return &item;
  }
  return nullptr;
}

void Dict::Set(Value key, Value value) {
  uint64_t hash = Hash(key);
  if (const Item* found = Lookup(key, hash)) {
    items_[static_cast<size_t>(found - items_.data())].value = std::move(value);
    return;
  }
  constexpr size_t kChargeEvery = 16;  // items' bytes are charged in lots
  if (items_.size() % kChargeEvery == 0 && Meter::Current() != nullptr) {
    charges_.emplace_back(kChargeEvery * (sizeof(Item) + 48));
  }
  items_.push_back({std::move(key), std::move(value)});
  if (!index_.empty()) {
    index_.emplace(hash, static_cast<uint32_t>(items_.size() - 1));
  } else if (items_.size() >= kIndexFrom) {
    for (uint32_t i = 0; i < items_.size(); ++i) index_.emplace(Hash(items_[i].key), i);
  }
}

const Value* Dict::Find(const Value& key) const {
  const Item* item = Lookup(key, Hash(key));
  return item != nullptr ? &item->value : nullptr;
}

const Value* Dict::Find(std::string_view key) const {
  return Find(Value(Text(std::string(key), Origin::kTemplate)));
}

std::string_view TypeName(const Value& value) {
  static constexpr std::string_view kNames[] = {"Undefined", "NoneType",  "bool",  "int",  "float",
                                                "str",       "list",      "tuple", "dict", "",
                                                "range",     "generator", "object"};
  if (auto* view = value.get<View>()) {
    static constexpr std::string_view kViews[] = {"dict_keys", "dict_values", "dict_items"};
    return kViews[view->kind];
  }
  if (Object* object = value.object()) return object->type_name();
  if (auto* tuple = value.get<TuplePtr>(); tuple != nullptr && tuple->ptr->group) {
    return "_GroupTuple";
  }
  if (value.is_text() && value.text()->markup()) return "Markup";
  return kNames[value.storage().index()];
}

std::string ObjectRepr(const Value& value) {
  if (value.is_none()) return "None";
  return std::string(TypeName(value)) + " object";
}

}  // namespace moxie::text::jinja
