// What happens to a text before it is split into words: Unicode forms, case, accents, spaces.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace moxie::text {

// A text on its way. `leading_removed`: characters at its front are gone, so that what is now first
// was not first in the original (Metaspace's "first" asks).
// `at_start`: this is the beginning of what the user gave, not what follows a special token.
struct NormalizedText {
  std::string text;
  bool at_start = true;
  bool leading_removed = false;
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
