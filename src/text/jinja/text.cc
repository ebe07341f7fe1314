#include "text/jinja/text.h"

#include <algorithm>

namespace moxie::text::jinja {
namespace {

size_t CountCodePoints(std::string_view bytes) {
  size_t n = 0;
  for (char c : bytes) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

}  // namespace

Text::Rep::Rep(std::string b, std::vector<Run> r)
    : bytes(std::move(b)),
      runs(std::move(r)),
      length(CountCodePoints(bytes)),
      charge(sizeof(Rep) + bytes.capacity() + runs.capacity() * sizeof(Run)) {}

Text::Text(std::string bytes, Origin origin) {
  if (bytes.empty()) return;
  std::vector<Run> runs = {{bytes.size(), origin}};
  rep_ = std::make_shared<const Rep>(std::move(bytes), std::move(runs));
}

Text::Text(std::string bytes, std::vector<Run> runs) {
  if (bytes.empty()) return;
  rep_ = std::make_shared<const Rep>(std::move(bytes), std::move(runs));
}

size_t Text::ByteOffset(size_t index) const {
  if (ascii()) return index;
  if (index >= length()) return bytes();
  std::string_view text = view();
  size_t pos = 0;
  for (; index > 0; --index) {
    ++pos;
    while (pos < text.size() && (static_cast<unsigned char>(text[pos]) & 0xC0) == 0x80) ++pos;
  }
  if (Meter* meter = Meter::Current()) meter->Step(pos / 64);
  return pos;
}

size_t Text::IndexAt(size_t offset) const {
  return ascii() ? offset : CountCodePoints(view().substr(0, offset));
}

Text Text::Sub(size_t begin, size_t end) const {
  if (begin >= end) return Text();
  if (begin == 0 && end == bytes()) return WithMarkup(false);
  TextBuilder builder;
  builder.AddSub(*this, begin, end);
  return builder.Take();
}

Origin Text::OriginAt(size_t offset) const {
  if (rep_ == nullptr) return Origin::kTemplate;
  for (const Run& run : rep_->runs) {
    if (offset < run.end) return run.origin;
  }
  return rep_->runs.back().origin;
}

void TextBuilder::Add(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  if (Meter* meter = Meter::Current()) {
    meter->Copy(bytes.size());
    if (bytes_.size() + bytes.size() > meter->limits().max_text_bytes) {
      meter->Copy(bytes_.size() + bytes.size());  // fails
    }
  }
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), origin});
  }
}

void TextBuilder::AddChar(char32_t c, Origin origin) {
  std::string encoded;
  AppendUtf8(c, encoded);
  Add(encoded, origin);
}

void TextBuilder::AddRepeated(const Text& text, size_t times) {
  if (text.empty()) return;
  if (Meter* meter = Meter::Current()) {
    size_t limit = meter->limits().max_text_bytes;
    meter->Copy(times > limit / text.bytes() ? limit + 1 : times * text.bytes());
    meter->Step(times);
  }
  for (size_t i = 0; i < times; ++i) Add(text);
}

Text TextBuilder::Take() {
  Text text(std::move(bytes_), std::move(runs_));
  bytes_.clear();
  runs_.clear();
  return text;
}

}  // namespace moxie::text::jinja
