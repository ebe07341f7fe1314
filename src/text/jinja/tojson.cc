#include "text/jinja/tojson.h"

#include <algorithm>
#include <cmath>

namespace moxie::text::jinja {
namespace {

class Writer {
 public:
  explicit Writer(const JsonFormat& format) : format_(format) {}
  Text Take() { return out_.Take(); }

  void Write(const Value& value) {
    if (Meter* meter = Meter::Current()) meter->Step();
    Meter::Nest nest(Meter::Current());
    if (auto* text = value.text()) {
      WriteText(*text);
    } else if (auto* items = value.items()) {
      WriteArray(*items);
    } else if (const Dict* dict = value.dict()) {
      WriteObject(*dict);
    } else {
      Add(Scalar(value));
    }
  }

 private:
  void Add(std::string_view s) { out_.Add(s, Origin::kData); }

  static std::string Scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (auto* b = value.get<bool>()) return *b ? "true" : "false";
    if (auto* i = value.get<Int>()) return IntToString(*i);
    if (auto* d = value.get<double>()) {
      if (std::isnan(*d)) return "NaN";
      if (std::isinf(*d)) return *d < 0 ? "-Infinity" : "Infinity";
      return FloatRepr(*d);
    }
    Raise("TypeError", "Object of type ", TypeName(value), " is not JSON serializable");
  }

  void NewLine() {
    if (!format_.indent) return;
    Add("\n");
    out_.AddRepeated(*format_.indent, depth_);
  }

  template <typename Items, typename F>
  void WriteItems(const Items& items, std::string_view open, std::string_view close, F write) {
    Add(open);
    if (!items.empty()) {
      ++depth_;
      NewLine();
      bool first = true;
      for (const auto& item : items) {
        if (!first) {
          out_.Add(format_.item_separator);
          NewLine();
        }
        first = false;
        write(item);
      }
      --depth_;
      NewLine();
    }
    Add(close);
  }

  void WriteArray(const std::vector<Value>& items) {
    WriteItems(items, "[", "]", [this](const Value& item) { Write(item); });
  }

  void WriteObject(const Dict& dict) {
    auto write = [this](const Dict::Item& item) {
      WriteKey(item.key);
      out_.Add(format_.key_separator);
      Write(item.value);
    };
    if (!format_.sort_keys) return WriteItems(dict.items(), "{", "}", write);
    auto sorted = dict.items();
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return Less(a.key, b.key); });
    WriteItems(sorted, "{", "}", write);
  }

  void WriteKey(const Value& key) {
    if (auto* text = key.text()) return WriteText(*text);
    if (!key.is_none() && !key.is_number()) {
      Raise("TypeError", "keys must be str, int, float, bool or None, not ", TypeName(key));
    }
    Add("\"" + Scalar(key) + "\"");
  }

  void WriteText(const Text& text) {
    Add("\"");
    text.ForEachRun([this](std::string_view part, Origin origin) {
      std::string escaped;
      escaped.reserve(part.size());
      for (size_t pos = 0; pos < part.size();) {
        size_t start = pos;
        char32_t c = DecodeUtf8(part, pos);
        if (c >= 0x20 && c != '"' && c != '\\' && (c < 0x7F || !format_.ensure_ascii)) {
          escaped += part.substr(start, pos - start);
        } else {
          Escape(c, escaped);
        }
      }
      out_.Add(escaped, origin);
    });
    Add("\"");
  }

  static void Escape(char32_t c, std::string& out) {
    static constexpr std::string_view kFrom = "\"\\\n\r\t\f\b";
    static constexpr std::string_view kTo = "\"\\nrtfb";
    size_t at = c < 0x80 ? kFrom.find(static_cast<char>(c)) : kFrom.npos;
    if (at != kFrom.npos) {
      out += '\\';
      out += kTo[at];
    } else if (c < 0x10000) {
      AppendUnit(c, out);
    } else {
      AppendUnit(0xD800 + ((c - 0x10000) >> 10), out);
      AppendUnit(0xDC00 + ((c - 0x10000) & 0x3FF), out);
    }
  }
  static void AppendUnit(char32_t unit, std::string& out) {
    static constexpr char kDigits[] = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 15];
  }

  const JsonFormat& format_;
  TextBuilder out_;
  size_t depth_ = 0;
};

}  // namespace

Text ToJson(const Value& value, const JsonFormat& format) {
  Writer writer(format);
  writer.Write(value);
  return writer.Take();
}

}  // namespace moxie::text::jinja
