// Value: a Python value as templates see it. Copies are cheap (containers are shared and immutable,
// as the sandbox forbids changing them; namespaces, loops and the like are objects).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "text/jinja/text.h"

namespace moxie::text::jinja {

class Value;
class Interp;

// Python's int, up to 127 bits; arithmetic that leaves them fails with kLimit.
using Int = __int128;
std::string IntToString(Int value);

struct None {};

// The default Undefined: prints as nothing, is false and empty; anything else raises `error` with
// `message`.
struct UndefinedInfo {
  const char* error = "UndefinedError";
  std::string message;
};

struct Sequence {
  explicit Sequence(std::vector<Value> values);
  ~Sequence();
  std::vector<Value> items;
  bool group = false;  // a tuple of groupby's, with .grouper and .list
  Charge charge;
};
using ListPtr = std::shared_ptr<const Sequence>;
struct TuplePtr {
  std::shared_ptr<const Sequence> ptr;
};

class Dict;
using DictPtr = std::shared_ptr<const Dict>;

struct View {
  enum Kind { kKeys, kValues, kItems } kind;
  DictPtr dict;
};

struct RangeValue {
  Int start = 0, stop = 0, step = 1;
  Int length() const;
  Int at(Int index) const { return start + index * step; }
};

// A one-shot iterator: Python's generators and iterators.
class Iterator {
 public:
  virtual ~Iterator() = default;
  // Sets `out` and returns true, or returns false for ever after.
  virtual bool Next(Value& out) = 0;
};

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

// Namespaces, macros, loops, bound methods: things with identity and behaviour.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  // Python's type(x).__name__ and what messages call it ("list object" form for Undefined).
  virtual std::string_view type_name() const = 0;
  virtual Text Repr(Interp& interp) const = 0;
  // The attribute, or nothing when there is none.
  virtual std::optional<Value> Attribute(Interp& interp, std::string_view name);
  virtual bool callable() const { return false; }
  virtual Value Call(Interp& interp, Args args);
  // len(x), where it has one.
  virtual std::optional<size_t> Length() { return std::nullopt; }
  // iter(x), or null.
  virtual std::shared_ptr<Iterator> Iterate() { return nullptr; }
  // Drops references to other values, so that no cycle survives the rendering.
  virtual void Clear() {}
};

class Value {
 public:
  using Storage = std::variant<std::shared_ptr<const UndefinedInfo>, None, bool, Int, double, Text,
                               ListPtr, TuplePtr, DictPtr, View, RangeValue,
                               std::shared_ptr<Iterator>, std::shared_ptr<Object>>;

  Value() : storage_(None{}) {}
  Value(None) : storage_(None{}) {}
  Value(bool b) : storage_(b) {}
  Value(Int i) : storage_(i) {}
  Value(int i) : storage_(Int{i}) {}
  Value(size_t i) : storage_(static_cast<Int>(i)) {}
  Value(double d) : storage_(d) {}
  Value(Text text) : storage_(std::move(text)) {}
  Value(const char* text) : storage_(Text(text)) {}
  Value(DictPtr dict) : storage_(std::move(dict)) {}
  Value(View view) : storage_(std::move(view)) {}
  Value(RangeValue range) : storage_(range) {}
  Value(std::shared_ptr<Iterator> it) : storage_(std::move(it)) {}
  Value(std::shared_ptr<Object> object) : storage_(std::move(object)) {}
  static Value List(std::vector<Value> items);
  static Value Tuple(std::vector<Value> items);
  static Value GroupTuple(Value grouper, Value list);
  static Value Undefined(std::string message, const char* error = "UndefinedError");

  bool is_undefined() const { return storage_.index() == 0; }
  bool is_none() const { return std::holds_alternative<None>(storage_); }
  bool is_bool() const { return std::holds_alternative<bool>(storage_); }
  bool is_text() const { return std::holds_alternative<Text>(storage_); }
  bool is_list() const { return std::holds_alternative<ListPtr>(storage_); }
  bool is_tuple() const { return std::holds_alternative<TuplePtr>(storage_); }
  bool is_dict() const { return std::holds_alternative<DictPtr>(storage_); }
  bool is_float() const { return std::holds_alternative<double>(storage_); }
  // isinstance(x, int): booleans included.
  bool is_int() const { return std::holds_alternative<Int>(storage_) || is_bool(); }
  bool is_number() const { return is_int() || is_float(); }

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&storage_);
  }
  const Text* text() const { return get<Text>(); }
  // The items of a list or a tuple, or null.
  const std::vector<Value>* items() const;
  const Dict* dict() const;
  const UndefinedInfo* undefined() const;
  Object* object() const;
  Iterator* iterator() const;
  // REQUIRES: is_int().
  Int as_int() const { return is_bool() ? Int{*get<bool>()} : *get<Int>(); }

  const Storage& storage() const { return storage_; }
  // Python's `a is b`, for what can be told apart.
  bool Is(const Value& other) const;

  // JSON as a value whose strings have this origin.
  static Value FromJson(const Json& json, Origin origin);

 private:
  Storage storage_;
};

// Ordered mapping with Python's key equality (1, 1.0 and True are one key).
class Dict {
 public:
  struct Item {
    Value key;
    Value value;
  };
  // Inserts or replaces (keeping the first key and its place). Raises TypeError for unhashable
  // keys.
  void Set(Value key, Value value);
  // The value, or null. Raises TypeError for unhashable keys.
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;
  const std::vector<Item>& items() const { return items_; }
  size_t size() const { return items_.size(); }
  Dict Copy() const;
  Dict() = default;
  Dict(Dict&&) = default;
  ~Dict();

 private:
  const Item* Lookup(const Value& key, uint64_t hash) const;
  std::vector<Item> items_;
  std::unordered_multimap<uint64_t, uint32_t> index_;  // hash -> position; kept from 8 items on
  std::vector<Charge> charges_;
};

// type(x).__name__
std::string_view TypeName(const Value& value);
// As Undefined's messages name the object: "list object", "None".
std::string ObjectRepr(const Value& value);

}  // namespace moxie::text::jinja
