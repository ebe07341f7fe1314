#include "text/chat_encode.h"

#include <algorithm>

#include "text/tokenizer_parts.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

// "<think>", "[INST]", "<｜User｜>": in some brackets. Words and punctuation that a vocabulary was
// extended by are part of any text.
bool LooksLikeMarker(std::string_view content) {
  auto outer = [](uint32_t c) { return !IsWordCharacter(c) && !IsWhitespace(c); };
  size_t pos = 0, characters = 0;
  uint32_t first = 0, last = 0;
  while (pos < content.size()) {
    last = NextCodePoint(content, &pos);
    if (characters++ == 0) first = last;
  }
  return characters >= 3 && outer(first) && outer(last);
}

// Ids, ascending.
std::vector<int32_t> MarkersIn(const AddedTokens& added, const std::vector<std::string>& texts) {
  std::vector<int32_t> markers;
  for (const std::string& text : texts) {
    for (bool normalized : {false, true}) {
      for (const AddedTokens::Part& part : added.Split(text, normalized, {{0, text.size()}})) {
        if (part.id >= 0 && LooksLikeMarker(added.Find(part.id)->content)) {
          markers.push_back(part.id);
        }
      }
    }
  }
  std::ranges::sort(markers);
  const auto same = std::ranges::unique(markers);
  markers.erase(same.begin(), same.end());
  return markers;
}

}  // namespace

Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, const ChatPrompt& prompt,
                                        bool add_special_tokens) {
  std::vector<int32_t> markers;
  if (prompt.template_texts) markers = MarkersIn(tokenizer.parts().added, *prompt.template_texts);
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  options.markers = markers;
  std::vector<TextSegment> segments;
  segments.reserve(prompt.segments.size());
  for (const ChatSegment& segment : prompt.segments) {
    segments.push_back({segment.text, segment.from_template});
  }
  MOXIE_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.Encode(segments, options));
  if (!add_special_tokens || ids.size() < 2 || ids[0] != ids[1] || !tokenizer.IsSpecial(ids[0])) {
    return ids;
  }
  // Twice the same at the start: is one of them the tokenizer's?
  options.add_special_tokens = false;
  MOXIE_ASSIGN_OR_RETURN(std::vector<int32_t> own, tokenizer.Encode(segments, options));
  if (own.size() < ids.size() && std::equal(own.begin(), own.end(), ids.begin() + 1)) {
    ids.erase(ids.begin());
  }
  return ids;
}

}  // namespace moxie::text
