#include "text/chat_encode.h"

namespace moxie::text {
namespace {

bool StartsWithBos(const Tokenizer& tokenizer, const ChatPrompt& prompt) {
  auto bos = tokenizer.bos_id();
  if (!bos || prompt.segments.empty() || !prompt.segments[0].from_template) return false;
  std::string_view piece = tokenizer.TokenPiece(*bos);
  return !piece.empty() && prompt.segments[0].text.starts_with(piece);
}

}  // namespace

Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, const ChatPrompt& prompt,
                                        bool add_special_tokens) {
  EncodeOptions options;
  options.add_special_tokens =
      add_special_tokens && !(tokenizer.AddsBos() && StartsWithBos(tokenizer, prompt));
  std::vector<TextSegment> segments;
  segments.reserve(prompt.segments.size());
  for (const ChatSegment& segment : prompt.segments) {
    segments.push_back({segment.text, segment.from_template});
  }
  return tokenizer.Encode(segments, options);
}

}  // namespace moxie::text
