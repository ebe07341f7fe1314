// Cuts a normalised text into words, the units that the model encodes one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/pattern.h"

namespace moxie::text {

// A text and the words in it, in order; what lies between two words is dropped. A step may cut
// words further or rewrite the text under them. No word is empty.
struct Words {
  struct Span {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  std::string text;
  std::vector<Span> spans;
  // Words that begin before here begin where the user's text does (NormalizedText::first_end).
  size_t first_end = 0;

  std::string_view word(Span s) const {
    return std::string_view(text).substr(s.begin, s.end - s.begin);
  }
  bool IsFirst(Span s) const { return s.begin < first_end; }
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual Status Apply(Words& words) const = 0;
};

// What becomes of the matches of a pattern that cuts: see the table in Hugging Face's Split.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// From the "pre_tokenizer" object of a tokenizer.json. `where` starts every error.
Result<std::unique_ptr<PreTokenizer>> PreTokenizerFromJson(const Json& json,
                                                           const std::string& where);

// The steps of a byte-level vocabulary that is split by `regexes` in turn, then spelled in GPT-2's
// alphabet.
Result<std::unique_ptr<PreTokenizer>> MakeByteLevelSplit(const std::vector<std::string>& regexes);

enum class PrependScheme { kAlways, kFirst, kNever };
// Spaces become "▁", which is also put in front; words begin at it.
std::unique_ptr<PreTokenizer> MakeMetaspace(PrependScheme scheme, bool split);
// BERT's: white space separates, punctuation stands alone.
std::unique_ptr<PreTokenizer> MakeBertPreTokenizer();
// Cuts before every `mark` that follows another character. Changes no ids where
// Model::SplitsBefore(mark); makes words that are short and come again.
std::unique_ptr<PreTokenizer> MakeSplitBefore(std::string mark);
std::unique_ptr<PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps);

}  // namespace moxie::text
