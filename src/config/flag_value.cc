#include "config/flag_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace moxie::config {
namespace {

// What a value is parsed to before its domain is checked; nullopt: not of this type at all.
using Parsed = std::optional<FlagValue>;

std::optional<int64_t> WholeInt(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Python's float() without its `nan`, `inf` and underscores: no flag takes those.
std::optional<double> WholeReal(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = ec == std::errc() && end == text.data() + text.size() && !text.empty();
  if (!whole || !std::isfinite(value)) return std::nullopt;
  return value;
}

struct Multiplier {
  char suffix;
  int64_t factor;
  bool decimals;  // 1.5k works, 1.5K does not: vLLM's rule
};

constexpr Multiplier kMultipliers[] = {
    {'k', 1'000, true},         {'m', 1'000'000, true},
    {'g', 1'000'000'000, true}, {'t', 1'000'000'000'000, true},
    {'K', 1LL << 10, false},    {'M', 1LL << 20, false},
    {'G', 1LL << 30, false},    {'T', 1LL << 40, false},
};

std::optional<int64_t> HumanInt(std::string_view text) {
  auto row = std::find_if(std::begin(kMultipliers), std::end(kMultipliers),
                          [&](const Multiplier& m) { return text.ends_with(m.suffix); });
  if (row == std::end(kMultipliers)) return WholeInt(text);
  text.remove_suffix(1);
  bool digits_first = !text.empty() && text.front() >= '0' && text.front() <= '9';
  bool plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!digits_first || !plain || text.ends_with('.')) return std::nullopt;
  if (!row->decimals && text.find('.') != std::string_view::npos) return std::nullopt;
  std::optional<double> number = WholeReal(text);
  if (!number || *number * static_cast<double>(row->factor) > 9e18) return std::nullopt;
  return static_cast<int64_t>(*number * static_cast<double>(row->factor));
}

template <typename T>
Parsed Wrap(std::optional<T> value) {
  if (!value) return std::nullopt;
  return FlagValue(std::move(*value));
}

Parsed ParseBool(const std::string& word) {
  if (word == "true") return FlagValue(true);
  if (word == "false") return FlagValue(false);
  return std::nullopt;
}

// Words may hold several numbers: `512,1024`.
Parsed ParseInts(std::span<const std::string> words) {
  std::vector<int64_t> numbers;
  for (const std::string& word : words) {
    for (const std::string& part : SplitFlagWords(word, ',')) {
      std::optional<int64_t> number = WholeInt(part);
      if (!number) return std::nullopt;
      numbers.push_back(*number);
    }
  }
  if (numbers.empty()) return std::nullopt;
  return FlagValue(std::move(numbers));
}

Parsed ParseJsonWord(const std::string& word) {
  auto json = ParseJson(word);
  if (!json.ok()) return std::nullopt;
  return FlagValue(std::in_place_type<Json>, std::move(*json));
}

bool IsChoice(const FlagDomain& domain, const std::string& word) {
  std::vector<std::string> choices = SplitFlagWords(domain.choices, '|');
  return std::find(choices.begin(), choices.end(), word) != choices.end();
}

Parsed ParseTyped(const FlagRow& row, std::span<const std::string> words) {
  switch (row.type) {
    case FlagType::kBool:
      return ParseBool(words[0]);
    case FlagType::kInt:
      return Wrap(WholeInt(words[0]));
    case FlagType::kHumanInt:
      if (IsChoice(row.domain, words[0])) return FlagValue(words[0]);
      return Wrap(HumanInt(words[0]));
    case FlagType::kReal:
      return Wrap(WholeReal(words[0]));
    case FlagType::kString:
    case FlagType::kOptionalString:
      return FlagValue(words[0]);
    case FlagType::kStrings:
      return FlagValue(std::vector<std::string>(words.begin(), words.end()));
    case FlagType::kInts:
      return ParseInts(words);
    case FlagType::kJson:
      return ParseJsonWord(words[0]);
  }
  return std::nullopt;
}

bool InRange(const FlagDomain& domain, double value) {
  bool above = domain.min_open ? value > domain.min : value >= domain.min;
  bool below = domain.max_open ? value < domain.max : value <= domain.max;
  return above && below;
}

bool InDomain(const FlagDomain& domain, const FlagValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return InRange(domain, static_cast<double>(*number));
  }
  if (const auto* number = std::get_if<double>(&value)) return InRange(domain, *number);
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    return std::all_of(numbers->begin(), numbers->end(),
                       [&](int64_t n) { return InRange(domain, static_cast<double>(n)); });
  }
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr || domain.choices.empty() || IsChoice(domain, *text);
}

// `None` is how vLLM's optional flags spell absence.
bool MeansAbsent(const FlagRow& row, std::span<const std::string> words) {
  return row.initial.empty() && words.size() == 1 && words[0] == "None";
}

std::string Joined(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string Bound(double value) {
  if (std::abs(value) < 9e15 && value == std::floor(value))
    return StrCat(static_cast<int64_t>(value));
  return StrCat(value);
}

// " from 1 to 5", " above 0 and at most 1", " of at least 0", "".
std::string DescribeRange(const FlagDomain& d) {
  bool has_min = std::isfinite(d.min);
  bool has_max = std::isfinite(d.max);
  if (has_min && has_max && !d.min_open && !d.max_open) {
    return StrCat(" from ", Bound(d.min), " to ", Bound(d.max));
  }
  std::string text;
  if (has_min) text = StrCat(d.min_open ? " above " : " of at least ", Bound(d.min));
  if (has_max)
    text += StrCat(has_min ? " and" : "", d.max_open ? " below " : " at most ", Bound(d.max));
  return text;
}

}  // namespace

std::vector<std::string> SplitFlagWords(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string DescribeFlagValues(const FlagRow& row) {
  switch (row.type) {
    case FlagType::kBool:
      return "true or false";
    case FlagType::kInt:
      return StrCat("an integer", DescribeRange(row.domain));
    case FlagType::kHumanInt:
      return StrCat("an integer", DescribeRange(row.domain), " (4k is 4000, 4K is 4096)",
                    row.domain.choices.empty() ? "" : ", or ",
                    Joined(SplitFlagWords(row.domain.choices, '|'), ", "));
    case FlagType::kReal:
      return StrCat("a number", DescribeRange(row.domain));
    case FlagType::kInts:
      return StrCat("integers", DescribeRange(row.domain));
    case FlagType::kJson:
      return "JSON";
    default:
      break;
  }
  if (row.domain.choices.empty()) return row.type == FlagType::kStrings ? "words" : "a word";
  return StrCat("one of ", Joined(SplitFlagWords(row.domain.choices, '|'), ", "));
}

Result<FlagValue> ParseFlagValue(const FlagRow& row, std::span<const std::string> words) {
  if (MeansAbsent(row, words)) return FlagValue();
  Parsed value = ParseTyped(row, words);
  if (!value || !InDomain(row.domain, *value)) {
    return InvalidArgument(row.name, ": \"", Joined(words, " "), "\" is not ",
                           DescribeFlagValues(row));
  }
  return std::move(*value);
}

FlagValue DefaultValue(const FlagRow& row) {
  if (row.initial.empty()) return {};
  std::string word(row.initial);
  auto value = ParseFlagValue(row, {&word, 1});
  return value.ok() ? std::move(*value) : FlagValue();
}

std::string ShownName(const FlagRow& row) {
  if (!row.positional()) return std::string(row.name);
  return row.name == "model_tag" ? "MODEL" : "FILE";
}

std::string ShowFlagValue(const FlagValue& value) {
  struct Shower {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return StrCat(v); }
    std::string operator()(double v) const { return StrCat(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<std::string>& v) const { return Joined(v, " "); }
    std::string operator()(const std::vector<int64_t>& v) const {
      std::string text;
      for (int64_t n : v) text += StrCat(text.empty() ? "" : " ", n);
      return text;
    }
    std::string operator()(const Json& v) const { return DumpJson(v); }
  };
  return std::visit(Shower{}, value);
}

}  // namespace moxie::config
