// What happens to a text before it is split into words: Unicode forms, case, accents, spaces.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace moxie::text {

// A text on its way.
struct NormalizedText {
  std::string text;
  // This is the beginning of what the user gave, not what follows a special token.
  bool at_start = true;
  // So many bytes at its front stand for the first character of the given text, or were put before
  // it; 0 when nothing of that character is left. A word that begins in them is "first" to
  // Metaspace, however often the text has been cut.
  size_t first_end = 0;

  // `text` as the user gave it.
  static NormalizedText Of(std::string text, bool at_start);
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // `text` is valid UTF-8 and stays so. Fails when a regular expression exceeds its limits.
  virtual Status Apply(NormalizedText& text) const = 0;
};

// From the "normalizer" object of a tokenizer.json. `where` starts every error.
Result<std::unique_ptr<Normalizer>> NormalizerFromJson(const Json& json, const std::string& where);

}  // namespace moxie::text
