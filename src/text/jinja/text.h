// Text: an immutable Python str in UTF-8 that knows, for each byte, whether the template wrote it
// or it came in as data. Cheap to copy. Every operation keeps the origins, so that marker text
// inside a message stays data wherever the template moves it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/meter.h"
#include "text/jinja/unicode.h"

namespace moxie::text::jinja {

enum class Origin : uint8_t { kTemplate, kData };

// Bytes up to `end` (from the previous run's end) have this origin.
struct Run {
  size_t end;
  Origin origin;
};

class Text {
 public:
  Text() = default;
  Text(std::string bytes, Origin origin);
  Text(std::string bytes, std::vector<Run> runs);
  // Template text.
  Text(const char* bytes) : Text(std::string(bytes), Origin::kTemplate) {}

  std::string_view view() const {
    return rep_ ? std::string_view(rep_->bytes) : std::string_view();
  }
  std::string str() const { return std::string(view()); }
  bool empty() const { return rep_ == nullptr; }
  size_t bytes() const { return view().size(); }
  // Length in code points.
  size_t length() const { return rep_ ? rep_->length : 0; }
  bool ascii() const { return length() == bytes(); }

  // Whether this is a Markup, what `escape` and `safe` make: a str whose operations escape what
  // they take in and give Markup again. What is put together or cut out here is not, until it is
  // said to be.
  bool markup() const { return markup_; }
  Text WithMarkup(bool markup = true) const {
    Text text = *this;
    text.markup_ = markup;
    return text;
  }

  // Byte offset of code point `index`, 0 <= index <= length().
  size_t ByteOffset(size_t index) const;
  // The code points before byte `offset`.
  size_t IndexAt(size_t offset) const;
  // Bytes [begin, end).
  Text Sub(size_t begin, size_t end) const;
  // Code points [begin, end).
  Text Slice(size_t begin, size_t end) const { return Sub(ByteOffset(begin), ByteOffset(end)); }

  // Calls f(bytes, origin) for each stretch of one origin, in order, within bytes [begin, end).
  template <typename F>
  void ForEachRun(size_t begin, size_t end, F&& f) const {
    if (rep_ == nullptr) return;
    size_t start = 0;
    for (const Run& run : rep_->runs) {
      size_t b = std::max(start, begin), e = std::min(run.end, end);
      if (b < e) f(std::string_view(rep_->bytes).substr(b, e - b), run.origin);
      start = run.end;
      if (start >= end) break;
    }
  }
  template <typename F>
  void ForEachRun(F&& f) const {
    ForEachRun(0, bytes(), f);
  }
  // Calls f(code point, origin) for each code point.
  template <typename F>
  void ForEachChar(F&& f) const {
    ForEachRun([&](std::string_view part, Origin origin) {
      for (size_t pos = 0; pos < part.size();) f(DecodeUtf8(part, pos), origin);
    });
  }
  // Origin of the byte at `offset` (of the last byte when past the end; template when empty).
  Origin OriginAt(size_t offset) const;

  friend bool operator==(const Text& a, const Text& b) { return a.view() == b.view(); }

 private:
  struct Rep {
    Rep(std::string b, std::vector<Run> r);
    std::string bytes;
    std::vector<Run> runs;  // ascending, adjacent origins differ; the last ends at bytes.size()
    size_t length;
    Charge charge;
  };
  std::shared_ptr<const Rep> rep_;  // null: the empty text
  bool markup_ = false;
};

// Appends pieces into one Text; refuses to grow over the meter's limit.
class TextBuilder {
 public:
  void Add(std::string_view bytes, Origin origin);
  void Add(const Text& text) { AddSub(text, 0, text.bytes()); }
  void AddSub(const Text& text, size_t begin, size_t end) {
    text.ForEachRun(begin, end, [this](std::string_view part, Origin o) { Add(part, o); });
  }
  void AddChar(char32_t c, Origin origin);
  void AddRepeated(const Text& text, size_t times);

  size_t bytes() const { return bytes_.size(); }
  Text Take();

 private:
  std::string bytes_;
  std::vector<Run> runs_;
};

}  // namespace moxie::text::jinja
