#include "text/jinja/markup.h"

#include <array>
#include <utility>

#include "text/jinja/methods.h"

namespace moxie::text::jinja {

Text EscapeHtml(const Text& text) {
  static constexpr std::pair<char, std::string_view> kEntities[] = {
      {'&', "&amp;"}, {'>', "&gt;"}, {'<', "&lt;"}, {'\'', "&#39;"}, {'"', "&#34;"}};
  TextBuilder out;
  text.ForEachRun([&](std::string_view part, Origin origin) {
    std::string escaped;
    for (char c : part) {
      bool found = false;
      for (auto [from, to] : kEntities) {
        if (c != from) continue;
        escaped += to;
        found = true;
      }
      if (!found) escaped += c;
    }
    out.Add(escaped, origin);
  });
  return out.Take();
}

Text StripTags(const Text& text) {
  // Comments first, then tags, as markupsafe does; entities would need the whole HTML table.
  if (text.view().find('&') != std::string_view::npos) {
    Raise(kUnsupported, "striptags of a text with entities");
  }
  auto remove = [](const Text& from, std::string_view open, std::string_view close) {
    TextBuilder out;
    std::string_view view = from.view();
    size_t at = 0;
    for (;;) {
      size_t begin = view.find(open, at);
      size_t end = begin == view.npos ? view.npos : view.find(close, begin);
      if (end == view.npos) break;
      out.AddSub(from, at, begin);
      at = end + close.size();
    }
    out.AddSub(from, at, view.size());
    return out.Take();
  };
  Text plain = remove(remove(text, "<!--", "-->"), "<", ">");
  TextBuilder out;
  for (const Value& word : Split(plain, Value(None{}), -1, false)) {
    if (out.bytes() > 0) out.Add(" ", Origin::kTemplate);
    out.Add(*word.text());
  }
  return out.Take();
}

Text QuoteUrl(const Text& text, bool query) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  TextBuilder out;
  text.ForEachRun([&](std::string_view part, Origin origin) {
    std::string quoted;
    for (char c : part) {
      auto b = static_cast<unsigned char>(c);
      bool safe = (b < 0x80 && isalnum(b)) || c == '_' || c == '.' || c == '-' || c == '~' ||
                  (c == '/' && !query);
      if (safe) {
        quoted += c;
      } else if (c == ' ' && query) {
        quoted += '+';
      } else {
        quoted += '%';
        quoted += kDigits[b >> 4];
        quoted += kDigits[b & 15];
      }
    }
    out.Add(quoted, origin);
  });
  return out.Take();
}

}  // namespace moxie::text::jinja
