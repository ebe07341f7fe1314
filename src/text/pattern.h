// What Split and Replace look for: a literal text or a regular expression.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "text/regex.h"

namespace moxie::text {

class Pattern {
 public:
  // From {"String": "..."} or {"Regex": "..."}.
  static Result<Pattern> FromJson(const Json& json, const std::string& where);
  // `text` is not empty.
  static Pattern Literal(std::string text) { return Pattern(std::move(text)); }
  static Result<Pattern> Compile(std::string_view regex);

  // See Regex::ForEachMatch.
  template <typename F>
  Status ForEachMatch(std::string_view text, F&& found) const {
    if (const auto* regex = std::get_if<Regex>(&pattern_)) return regex->ForEachMatch(text, found);
    const std::string& literal = std::get<std::string>(pattern_);
    for (size_t at = text.find(literal); at != std::string_view::npos;
         at = text.find(literal, at + literal.size())) {
      found(at, at + literal.size());
    }
    return OkStatus();
  }

  // The literal text, or null for a regular expression.
  const std::string* literal() const { return std::get_if<std::string>(&pattern_); }

 private:
  explicit Pattern(std::string literal) : pattern_(std::move(literal)) {}
  explicit Pattern(Regex regex) : pattern_(std::move(regex)) {}

  std::variant<std::string, Regex> pattern_;
};

}  // namespace moxie::text
