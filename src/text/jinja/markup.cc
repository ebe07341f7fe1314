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

Text Escape(Interp& interp, const Value& value) {
  Text text = SoftStr(interp, value);
  return text.markup() ? text : EscapeHtml(text).WithMarkup();
}

Text Unescape(const Text& text) {
  if (text.view().find('&') != std::string_view::npos) {
    Raise(kUnsupported, "a text with entities cannot be unescaped");
  }
  return text.WithMarkup(false);
}

Text StripTags(const Text& text) {
  std::string_view view = text.view();
  TextBuilder plain;
  size_t done = 0;
  for (size_t begin = view.find('<'); begin != view.npos; begin = view.find('<', done)) {
    const bool comment = view.substr(begin).starts_with("<!--");
    const std::string_view close = comment ? "-->" : ">";
    const size_t end = view.find(close, begin + (comment ? 4 : 0));
    if (end == view.npos) break;
    plain.AddSub(text, done, begin);
    done = end + close.size();
  }
  plain.AddSub(text, done, view.size());
  TextBuilder out;
  for (const Value& word : Split(plain.Take(), Value(None{}), -1, false)) {
    if (out.bytes() > 0) out.Add(" ", Origin::kTemplate);
    out.Add(*word.text());
  }
  return Unescape(out.Take());
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
