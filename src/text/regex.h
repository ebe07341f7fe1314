// Regular expressions as tokenizer files write them: Oniguruma's Ruby syntax, run by PCRE2 with
// JIT.
//
// Translated on the way: \s \S \d \w \h and \p{..} become the classes that Oniguruma has (its
// Unicode version is not PCRE2's), `x{1,3}+` is a repeated group and not possessive, classes may
// nest and intersect (&&). What has no translation is an error when the pattern is compiled.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct pcre2_real_code_8;

namespace moxie::text {

// The PCRE2 pattern that matches what Oniguruma matches for `pattern`.
Result<std::string> TranslateOniguruma(std::string_view pattern);

// Immutable; may be used from any thread.
class Regex {
 public:
  static Result<Regex> Compile(std::string_view pattern);

  // Calls found(begin, end) for each match, left to right, as Oniguruma's find_iter: an empty match
  // right after the last one is skipped. REQUIRES valid UTF-8. Fails when the pattern exceeds its
  // limits of steps or stack on this text.
  template <typename F>
  Status ForEachMatch(std::string_view text, F&& found) const {
    auto call = [](void* context, size_t begin, size_t end) {
      (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
    };
    return Run(text, call, &found);
  }

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  explicit Regex(pcre2_real_code_8* code) : code_(code) {}
  static Result<Regex> CompilePcre(const std::string& pattern, std::string_view written);
  Status Run(std::string_view text, void (*found)(void*, size_t, size_t), void* context) const;

  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace moxie::text
