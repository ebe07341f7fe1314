// Ids in, text out, one at a time: what a stream sends as soon as it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace moxie::text {

class DecodeStage;

// The pushes and the flush of one stream, joined, equal Tokenizer::Decode of all its ids. What Push
// returns is valid UTF-8, never part of a character. Held back is only what a later token may still
// change: the bytes of an unfinished character, a run of byte-fallback tokens (the reference
// replaces a whole run when it is broken), spaces that a decoder strips at the end. That state is
// bounded by a few bytes per token of such a run.
class IncrementalDetokenizer {
 public:
  // `tokenizer` must outlive this.
  explicit IncrementalDetokenizer(const Tokenizer& tokenizer, bool skip_special_tokens = true);
  ~IncrementalDetokenizer();
  IncrementalDetokenizer(IncrementalDetokenizer&&) noexcept;
  IncrementalDetokenizer& operator=(IncrementalDetokenizer&&) noexcept;

  // The text that became complete with this token; often a word, sometimes nothing.
  std::string Push(int32_t id);
  // The same, appended to `out`.
  void Push(int32_t id, std::string& out);
  // The rest; afterwards a new stream may begin.
  std::string Flush();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

}  // namespace moxie::text
