#include "text/pre_tokenizer.h"

#include <algorithm>

#include "config/json_fields.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

using config::JsonFields;
using Made = Result<std::unique_ptr<PreTokenizer>>;
using Span = Words::Span;

constexpr int kMaxDepth = 16;
constexpr std::string_view kMetaspaceMark = "\xE2\x96\x81";  // ▁
// GPT-2's own split, which ByteLevel does unless told not to.
constexpr std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Applies a behaviour to the parts of one word, which cover it in order.
class Splitter {
 public:
  Splitter(SplitBehavior behavior, std::vector<Span>& out) : behavior_(behavior), out_(out) {}

  void Add(uint32_t begin, uint32_t end, bool match) {
    bool before = std::exchange(match_before_, match);
    bool first = std::exchange(first_, false);
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!match) Put(begin, end);
        return;
      case SplitBehavior::kIsolated:
        return Put(begin, end);
      case SplitBehavior::kContiguous:
        if (match == before && !first) return Extend(end);
        return Put(begin, end);
      case SplitBehavior::kMergedWithPrevious:
        if (match && !before && !first) return Extend(end);
        return Put(begin, end);
      case SplitBehavior::kMergedWithNext:
        return AddBeforeNext(begin, end, match, before, first);
    }
  }

  // After the last part of a word.
  void EndWord() {
    first_ = true;
    match_before_ = false;
    open_ = false;
  }

 private:
  void Put(uint32_t begin, uint32_t end) {
    last_begin_ = begin;
    open_ = begin < end;
    if (open_) out_.push_back({begin, end});
  }
  // The part joins the one before it, which Put may have dropped as empty.
  void Extend(uint32_t end) {
    if (open_) {
      out_.back().end = end;
    } else {
      Put(last_begin_, end);
    }
  }
  // A match opens a word that the part after it joins, unless that is a match too.
  void AddBeforeNext(uint32_t begin, uint32_t end, bool match, bool before, bool first) {
    if (!match && before && !first) return Extend(end);
    Put(begin, end);
  }

  SplitBehavior behavior_;
  std::vector<Span>& out_;
  bool first_ = true;
  bool match_before_ = false;
  bool open_ = false;  // the last part put is out_.back()
  uint32_t last_begin_ = 0;
};

// Cuts every word with for_each(word, found): found(begin, end) for each match, in order.
template <typename F>
Status SplitWords(Words& words, SplitBehavior behavior, bool invert, F&& for_each) {
  std::vector<Span> out;
  out.reserve(words.spans.size() + words.text.size() / 4);
  Splitter splitter(behavior, out);
  for (Span span : words.spans) {
    uint32_t done = span.begin;
    MOXIE_RETURN_IF_ERROR(for_each(words.word(span), [&](size_t match_begin, size_t match_end) {
      auto begin = span.begin + static_cast<uint32_t>(match_begin);
      auto end = span.begin + static_cast<uint32_t>(match_end);
      if (done < begin) splitter.Add(done, begin, invert);
      splitter.Add(begin, end, !invert);
      done = end;
    }));
    if (done < span.end) splitter.Add(done, span.end, invert);
    splitter.EndWord();
  }
  words.spans = std::move(out);
  return OkStatus();
}

// The same, each character that `matches` being a match.
template <typename P>
Status SplitAtCharacters(Words& words, SplitBehavior behavior, P&& matches) {
  return SplitWords(words, behavior, false, [&](std::string_view word, auto&& found) {
    for (size_t pos = 0; pos < word.size();) {
      size_t begin = pos;
      if (matches(NextCodePoint(word, &pos))) found(begin, pos);
    }
    return OkStatus();
  });
}

// Rewrites the text under each word: prefix(word, first, out) appends what goes before it,
// map(part, out) the new text of any part of it.
template <typename P, typename F>
void RewriteWords(Words& words, P&& prefix, F&& map) {
  std::string text;
  text.reserve(words.text.size() + words.text.size() / 4);
  size_t first_end = 0, kept = 0;
  for (Span span : words.spans) {
    auto begin = static_cast<uint32_t>(text.size());
    std::string_view word = words.word(span);
    bool is_first = words.IsFirst(span);
    prefix(word, is_first, text);
    if (is_first) {
      size_t of_first = std::min(words.first_end - span.begin, word.size());
      map(word.substr(0, of_first), text);
      first_end = text.size();
      word.remove_prefix(of_first);
    }
    map(word, text);
    auto end = static_cast<uint32_t>(text.size());
    if (begin < end) words.spans[kept++] = {begin, end};
  }
  words.spans.resize(kept);
  words.text = std::move(text);
  words.first_end = first_end;
}
void NoPrefix(std::string_view, bool, std::string&) {}

class SequencePreTokenizer : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  Status Apply(Words& words) const override {
    for (const auto& step : steps_) MOXIE_RETURN_IF_ERROR(step->Apply(words));
    return OkStatus();
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

class SplitPreTokenizer : public PreTokenizer {
 public:
  SplitPreTokenizer(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  Status Apply(Words& words) const override {
    return SplitWords(words, behavior_, invert_, [this](std::string_view word, auto&& found) {
      return pattern_.ForEachMatch(word, found);
    });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

template <bool (*kMatches)(uint32_t)>
class CharacterSplit : public PreTokenizer {
 public:
  explicit CharacterSplit(SplitBehavior behavior) : behavior_(behavior) {}
  Status Apply(Words& words) const override {
    return SplitAtCharacters(words, behavior_, kMatches);
  }

 private:
  SplitBehavior behavior_;
};

class DelimiterSplit : public PreTokenizer {
 public:
  explicit DelimiterSplit(uint32_t delimiter) : delimiter_(delimiter) {}
  Status Apply(Words& words) const override {
    return SplitAtCharacters(words, SplitBehavior::kRemoved,
                             [this](uint32_t c) { return c == delimiter_; });
  }

 private:
  uint32_t delimiter_;
};

// \w+|[^\w\s]+ with the rest removed.
class WhitespacePreTokenizer : public PreTokenizer {
 public:
  Status Apply(Words& words) const override {
    return SplitWords(words, SplitBehavior::kRemoved, true,
                      [](std::string_view word, auto&& found) {
                        int before = kSpace;
                        size_t begin = 0;
                        for (size_t pos = 0; pos < word.size();) {
                          size_t at = pos;
                          int kind = Kind(NextCodePoint(word, &pos));
                          if (kind == before) continue;
                          if (before != kSpace) found(begin, at);
                          begin = at;
                          before = kind;
                        }
                        if (before != kSpace) found(begin, word.size());
                        return OkStatus();
                      });
  }

 private:
  enum { kSpace, kWord, kOther };
  static int Kind(uint32_t c) {
    return IsWordCharacter(c) ? kWord : IsWhitespace(c) ? kSpace : kOther;
  }
};

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, std::optional<Regex> regex)
      : add_prefix_space_(add_prefix_space), regex_(std::move(regex)) {}
  Status Apply(Words& words) const override {
    if (add_prefix_space_) {
      RewriteWords(
          words,
          [](std::string_view word, bool, std::string& out) {
            if (!word.starts_with(' ')) out += ' ';
          },
          [](std::string_view part, std::string& out) { out += part; });
    }
    if (regex_) {
      MOXIE_RETURN_IF_ERROR(SplitWords(words, SplitBehavior::kIsolated, false,
                                       [this](std::string_view word, auto&& found) {
                                         return regex_->ForEachMatch(word, found);
                                       }));
    }
    RewriteWords(words, NoPrefix,
                 [](std::string_view part, std::string& out) { AppendByteChars(out, part); });
    return OkStatus();
  }

 private:
  bool add_prefix_space_;
  std::optional<Regex> regex_;
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  MetaspacePreTokenizer(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(replacement),
        mark_(Pattern::Literal(std::move(replacement))),
        scheme_(scheme),
        split_(split) {}
  Status Apply(Words& words) const override {
    auto prefix = [this](std::string_view word, bool first, std::string& out) {
      bool marked = word.starts_with(' ') || word.starts_with(replacement_);
      bool prepend =
          scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && first);
      if (prepend && !marked) out += replacement_;
    };
    RewriteWords(words, prefix, [this](std::string_view part, std::string& out) {
      for (char c : part) {
        if (c == ' ')
          out += replacement_;
        else
          out += c;
      }
    });
    if (!split_) return OkStatus();
    return SplitWords(
        words, SplitBehavior::kMergedWithNext, false,
        [this](std::string_view word, auto&& found) { return mark_.ForEachMatch(word, found); });
  }

 private:
  std::string replacement_;
  Pattern mark_;  // the same
  PrependScheme scheme_;
  bool split_;
};

class FixedLengthPreTokenizer : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(int64_t length) : length_(length) {}
  Status Apply(Words& words) const override {
    return SplitWords(words, SplitBehavior::kIsolated, false,
                      [this](std::string_view word, auto&& found) {
                        size_t begin = 0;
                        int64_t count = 0;
                        for (size_t pos = 0; pos < word.size();) {
                          NextCodePoint(word, &pos);
                          if (++count < length_ && pos < word.size()) continue;
                          found(begin, pos);
                          begin = pos;
                          count = 0;
                        }
                        return OkStatus();
                      });
  }

 private:
  int64_t length_;
};

// A word is a run of one script; characters of no script, and spaces, belong to the run before.
class UnicodeScriptsPreTokenizer : public PreTokenizer {
 public:
  Status Apply(Words& words) const override {
    return SplitWords(words, SplitBehavior::kRemoved, true,
                      [](std::string_view word, auto&& found) {
                        uint16_t before = 0;
                        size_t begin = 0;
                        for (size_t pos = 0; pos < word.size();) {
                          size_t at = pos;
                          uint32_t c = NextCodePoint(word, &pos);
                          uint16_t script = c == ' ' ? 0 : ScriptOf(c);
                          if (script == 0) continue;
                          // What stands before the first character of a script is no word: the
                          // reference drops it.
                          if (before != script) {
                            if (before != 0) found(begin, at);
                            begin = at;
                          }
                          before = script;
                        }
                        if (before != 0) found(begin, word.size());
                        return OkStatus();
                      });
  }
};

class SplitBeforeMark : public PreTokenizer {
 public:
  explicit SplitBeforeMark(std::string mark) : mark_(std::move(mark)) {}
  Status Apply(Words& words) const override {
    return SplitWords(words, SplitBehavior::kIsolated, false,
                      [this](std::string_view word, auto&& found) {
                        size_t begin = 0;
                        size_t after = std::string_view::npos;  // the end of the last mark
                        for (size_t at = word.find(mark_); at != std::string_view::npos;
                             at = word.find(mark_, after)) {
                          if (at > begin && at != after) {
                            found(begin, at);
                            begin = at;
                          }
                          after = at + mark_.size();
                        }
                        found(begin, word.size());
                        return OkStatus();
                      });
  }

 private:
  std::string mark_;
};

// One row a kind: how its object is read.
struct Context {
  JsonFields& fields;
  const std::string& where;
  int depth;
};
Made FromJson(const Json& json, const std::string& where, int depth);

SplitBehavior Behavior(JsonFields& fields, SplitBehavior fallback) {
  static constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  std::optional<std::string> name = fields.String("behavior");
  if (!name) return fallback;
  for (const auto& [known, behavior] : kNames) {
    if (known == *name) return behavior;
  }
  fields.Fail("behavior", StrCat("\"", *name, "\" is unknown"));
  return fallback;
}

template <typename T>
Made MakePlain(const Context&) {
  return Made(std::make_unique<T>());
}

Made MakeSequence(const Context& c) {
  const Json* list = c.fields.Find("pretokenizers");
  if (!list || !list->is_array())
    return InvalidArgument(c.where, ": \"pretokenizers\" is not an array");
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (size_t i = 0; i < list->get_array().size(); ++i) {
    MOXIE_ASSIGN_OR_RETURN(
        auto step, FromJson(list->get_array()[i], StrCat(c.where, "[", i, "]"), c.depth + 1));
    steps.push_back(std::move(step));
  }
  return MakePreTokenizerSequence(std::move(steps));
}

Made MakeSplit(const Context& c) {
  const Json* pattern = c.fields.Find("pattern");
  if (!pattern) return InvalidArgument(c.where, ": \"pattern\" is missing");
  MOXIE_ASSIGN_OR_RETURN(Pattern compiled, Pattern::FromJson(*pattern, c.where));
  SplitBehavior behavior = Behavior(c.fields, SplitBehavior::kIsolated);
  bool invert = c.fields.Bool("invert").value_or(false);
  return Made(std::make_unique<SplitPreTokenizer>(std::move(compiled), behavior, invert));
}

Made MakeByteLevel(const Context& c) {
  std::optional<Regex> regex;
  if (c.fields.Bool("use_regex").value_or(true)) {
    MOXIE_ASSIGN_OR_RETURN(regex, Regex::Compile(kGpt2Regex));
  }
  bool prefix = c.fields.Bool("add_prefix_space").value_or(true);
  return Made(std::make_unique<ByteLevelPreTokenizer>(prefix, std::move(regex)));
}

Made MakeMetaspaceStep(const Context& c) {
  std::string replacement = c.fields.String("replacement").value_or(std::string(kMetaspaceMark));
  std::string scheme = c.fields.String("prepend_scheme").value_or("always");
  bool prefix = c.fields.Bool("add_prefix_space").value_or(true);
  bool split = c.fields.Bool("split").value_or(true);
  if (replacement.empty() ||
      CharLength(static_cast<unsigned char>(replacement[0])) != replacement.size()) {
    return InvalidArgument(c.where, ": \"replacement\" must be one character");
  }
  PrependScheme value = scheme == "first"   ? PrependScheme::kFirst
                        : scheme == "never" ? PrependScheme::kNever
                                            : PrependScheme::kAlways;
  if (value == PrependScheme::kAlways && scheme != "always") {
    return InvalidArgument(c.where, ": prepend_scheme \"", scheme,
                           "\" is not always, first or never");
  }
  if (!prefix) value = PrependScheme::kNever;
  return Made(std::make_unique<MetaspacePreTokenizer>(replacement, value, split));
}

Made MakeDelimiter(const Context& c) {
  std::string text = c.fields.String("delimiter").value_or("");
  if (text.empty() || CharLength(static_cast<unsigned char>(text[0])) != text.size()) {
    return InvalidArgument(c.where, ": \"delimiter\" must be one character");
  }
  size_t pos = 0;
  return Made(std::make_unique<DelimiterSplit>(NextCodePoint(text, &pos)));
}

Made MakePunctuation(const Context& c) {
  return Made(std::make_unique<CharacterSplit<IsPunctuation>>(
      Behavior(c.fields, SplitBehavior::kIsolated)));
}

Made MakeDigits(const Context& c) {
  bool individual = c.fields.Bool("individual_digits").value_or(false);
  return Made(std::make_unique<CharacterSplit<IsNumeric>>(individual ? SplitBehavior::kIsolated
                                                                     : SplitBehavior::kContiguous));
}

Made MakeWhitespaceSplit(const Context&) {
  return Made(std::make_unique<CharacterSplit<IsWhitespace>>(SplitBehavior::kRemoved));
}

Made MakeBert(const Context&) { return MakeBertPreTokenizer(); }

Made MakeFixedLength(const Context& c) {
  int64_t length = c.fields.IntOr("length", {.min = 1}, 5);
  return Made(std::make_unique<FixedLengthPreTokenizer>(length));
}

struct Kind {
  std::string_view name;
  Made (*make)(const Context&);
};
constexpr Kind kKinds[] = {
    {"Sequence", MakeSequence},
    {"Split", MakeSplit},
    {"ByteLevel", MakeByteLevel},
    {"Metaspace", MakeMetaspaceStep},
    {"Digits", MakeDigits},
    {"Punctuation", MakePunctuation},
    {"Whitespace", MakePlain<WhitespacePreTokenizer>},
    {"WhitespaceSplit", MakeWhitespaceSplit},
    {"BertPreTokenizer", MakeBert},
    {"CharDelimiterSplit", MakeDelimiter},
    {"Delimiter", MakeDelimiter},
    {"FixedLength", MakeFixedLength},
    {"UnicodeScripts", MakePlain<UnicodeScriptsPreTokenizer>},
};

Made FromJson(const Json& json, const std::string& where, int depth) {
  if (!json.is_object() || depth > kMaxDepth) {
    return InvalidArgument(where, ": expected an object with a \"type\", nested less than ",
                           kMaxDepth, " deep");
  }
  JsonFields fields(json.get_object(), where);
  std::string type = fields.String("type").value_or("");
  for (const Kind& kind : kKinds) {
    if (kind.name != type) continue;
    Made made = kind.make({fields, where, depth});
    MOXIE_RETURN_IF_ERROR(fields.status());
    return made;
  }
  return Unimplemented(where, ": pre-tokenizer \"", type, "\" is unknown");
}

}  // namespace

Result<std::unique_ptr<PreTokenizer>> PreTokenizerFromJson(const Json& json,
                                                           const std::string& where) {
  return FromJson(json, where, 0);
}

Result<std::unique_ptr<PreTokenizer>> MakeByteLevelSplit(const std::vector<std::string>& regexes) {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const std::string& regex : regexes) {
    MOXIE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::Compile(regex));
    steps.push_back(
        std::make_unique<SplitPreTokenizer>(std::move(pattern), SplitBehavior::kIsolated, false));
  }
  steps.push_back(std::make_unique<ByteLevelPreTokenizer>(false, std::nullopt));
  return MakePreTokenizerSequence(std::move(steps));
}

std::unique_ptr<PreTokenizer> MakeMetaspace(PrependScheme scheme, bool split) {
  return std::make_unique<MetaspacePreTokenizer>(std::string(kMetaspaceMark), scheme, split);
}

std::unique_ptr<PreTokenizer> MakeBertPreTokenizer() {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(std::make_unique<CharacterSplit<IsWhitespace>>(SplitBehavior::kRemoved));
  steps.push_back(std::make_unique<CharacterSplit<IsPunctuation>>(SplitBehavior::kIsolated));
  return MakePreTokenizerSequence(std::move(steps));
}

std::unique_ptr<PreTokenizer> MakeSplitBefore(std::string mark) {
  return std::make_unique<SplitBeforeMark>(std::move(mark));
}

std::unique_ptr<PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps) {
  return std::make_unique<SequencePreTokenizer>(std::move(steps));
}

}  // namespace moxie::text
