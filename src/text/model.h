// What turns one word into ids. Words are valid UTF-8, normalised and never empty.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/vocabulary.h"

namespace moxie::text {

class Model {
 public:
  explicit Model(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~Model() = default;

  // Appends the word's ids. Fails when the word has a part that no token covers and the model names
  // no unknown token.
  virtual Status Encode(std::string_view word, std::vector<int32_t>& ids) const = 0;

  // Whether cutting a text before every `mark` that follows another character changes no id.
  virtual bool SplitsBefore(std::string_view) const { return false; }

  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  Vocabulary vocabulary_;
};

}  // namespace moxie::text
