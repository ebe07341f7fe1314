#include "text/chat_encode.h"

#include <algorithm>

namespace moxie::text {
Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, const ChatPrompt& prompt,
                                        bool add_special_tokens) {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
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
