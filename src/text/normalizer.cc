#include "text/normalizer.h"

#include <algorithm>
#include <vector>

#include "config/json_fields.h"
#include "text/base64.h"
#include "text/charsmap.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

using config::JsonFields;
using Made = Result<std::unique_ptr<Normalizer>>;

constexpr int kMaxDepth = 16;

// Replacements of replacements grow without end; no model's own make a text four times as long.
constexpr size_t kMaxBytes = size_t{256} << 20;

Status CheckSize(size_t bytes) {
  if (bytes <= kMaxBytes) return OkStatus();
  return ResourceExhausted("the normalizer makes more than ", kMaxBytes, " bytes of the text");
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Rewrites character by character: emit(c, out) appends what stands for c, maybe nothing.
template <typename F>
void MapCharacters(NormalizedText& t, F&& emit) {
  std::string out;
  out.reserve(t.text.size());
  size_t first_end = 0;
  for (size_t pos = 0; pos < t.text.size();) {
    emit(NextCodePoint(t.text, &pos), out);
    if (pos == t.first_end) first_end = out.size();
  }
  t.text = std::move(out);
  t.first_end = first_end;
}

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> steps)
      : steps_(std::move(steps)) {}
  Status Apply(NormalizedText& t) const override {
    for (const auto& step : steps_) {
      MOXIE_RETURN_IF_ERROR(step->Apply(t));
      MOXIE_RETURN_IF_ERROR(CheckSize(t.text.size()));
    }
    return OkStatus();
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

void NormalizeText(NormalizedText& t, NormalForm form) {
  std::string first = Normalize(std::string_view(t.text).substr(0, t.first_end), form);
  t.text = Normalize(t.text, form);
  // What was first may have become one with what follows.
  if (t.first_end == 0 || t.text.empty()) return;
  t.first_end =
      t.text.starts_with(first) ? first.size() : CharLength(static_cast<unsigned char>(t.text[0]));
}

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(NormalForm form) : form_(form) {}
  Status Apply(NormalizedText& t) const override {
    NormalizeText(t, form_);
    return OkStatus();
  }

 private:
  NormalForm form_;
};

class LowercaseNormalizer : public Normalizer {
 public:
  Status Apply(NormalizedText& t) const override {
    MapCharacters(t, [](uint32_t c, std::string& out) { AppendLowercase(out, c); });
    return OkStatus();
  }
};

class StripAccentsNormalizer : public Normalizer {
 public:
  Status Apply(NormalizedText& t) const override {
    MapCharacters(t, [](uint32_t c, std::string& out) {
      if (!IsCombiningMark(c)) AppendUtf8(out, c);
    });
    return OkStatus();
  }
};

// Control characters go; other code points that SentencePiece's nmt rules count as space become
// one.
class NmtNormalizer : public Normalizer {
 public:
  Status Apply(NormalizedText& t) const override {
    MapCharacters(t, [](uint32_t c, std::string& out) {
      bool removed = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
                     c == 0x7F || c == 0x8F || c == 0x9F;
      bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                   (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                   c == 0xFEFF || c == 0xFFFD;
      if (!removed) AppendUtf8(out, space ? ' ' : c);
    });
    return OkStatus();
  }
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  Status Apply(NormalizedText& t) const override {
    size_t begin = 0, end = t.text.size();
    for (size_t next = 0; left_ && begin < end; begin = next) {
      if (!IsWhitespace(NextCodePoint(t.text, &next))) break;
    }
    while (right_ && end > begin) {
      size_t at = end - 1;
      while (at > begin && (t.text[at] & 0xC0) == 0x80) --at;
      size_t next = at;
      if (!IsWhitespace(NextCodePoint(t.text, &next))) break;
      end = at;
    }
    t.text = t.text.substr(begin, end - begin);
    t.first_end = t.first_end > begin ? std::min(t.first_end - begin, t.text.size()) : 0;
    return OkStatus();
  }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : text_(std::move(text)) {}
  Status Apply(NormalizedText& t) const override {
    if (t.text.empty()) return OkStatus();
    t.text.insert(0, text_);
    t.first_end += text_.size();
    return OkStatus();
  }

 private:
  std::string text_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  Status Apply(NormalizedText& t) const override {
    std::string out;
    std::string_view text = t.text;
    AppendByteChars(out, text.substr(0, t.first_end));
    size_t first_end = out.size();
    AppendByteChars(out, text.substr(t.first_end));
    t.text = std::move(out);
    t.first_end = first_end;
    return OkStatus();
  }
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status Apply(NormalizedText& t) const override {
    std::string out;
    size_t done = 0, first_end = 0;
    bool fits = true;
    auto keep_until = [&](size_t end) {
      if (done < t.first_end) first_end = out.size() + std::min(end, t.first_end) - done;
      out.append(t.text, done, end - done);
    };
    MOXIE_RETURN_IF_ERROR(pattern_.ForEachMatch(t.text, [&](size_t begin, size_t end) {
      fits = fits && out.size() + (begin - done) + content_.size() <= kMaxBytes;
      if (!fits) return;
      keep_until(begin);
      out += content_;
      done = end;
      // The new text counts as standing where the last character of the old one stood.
      if (end <= t.first_end) first_end = out.size();
    }));
    if (!fits) return CheckSize(kMaxBytes + 1);
    keep_until(t.text.size());
    t.text = std::move(out);
    t.first_end = first_end;
    return OkStatus();
  }

 private:
  Pattern pattern_;
  std::string content_;
};

// A short grapheme cluster is replaced whole when the map knows its beginning (and only that
// decides); else each of its characters is looked up alone. As the reference has it.
class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(CharsMap map) : map_(std::move(map)) {}
  Status Apply(NormalizedText& t) const override {
    std::string_view text = t.text;
    std::string out;
    First first{CountCharacters(text.substr(0, t.first_end))};
    for (size_t begin = 0; begin < text.size();) {
      size_t end = GraphemeEnd(text, begin);
      AppendCluster(text.substr(begin, end - begin), out, first);
      begin = end;
    }
    t.text = std::move(out);
    t.first_end = first.end;
    return OkStatus();
  }

 private:
  static constexpr size_t kShortCluster = 6;

  // Where the text's first characters end in the new text, in the reference's way: it gives each
  // new character the place of the next old one, those that there are too many of the place of the
  // last; too few take the places of those that follow, at the very front.
  struct First {
    size_t characters;  // old ones whose places are still to be given
    size_t end = 0;     // bytes of the new text

    void Replace(std::string_view old_part, std::string_view new_part, const std::string& out) {
      if (characters == 0) return;
      size_t before = CountCharacters(old_part), after = CountCharacters(new_part);
      if (new_part.empty() && end == 0) return;
      if (before <= characters) {
        characters -= before;
        end = out.size();
        return;
      }
      size_t pos = 0;
      for (size_t i = 0; i < std::min(characters, after); ++i) NextCodePoint(new_part, &pos);
      end = out.size() - new_part.size() + pos;
      characters = 0;
    }
  };

  void AppendCluster(std::string_view cluster, std::string& out, First& first) const {
    if (cluster.size() < kShortCluster) {
      if (auto match = map_.ShortestPrefix(cluster)) {
        out += match->replacement;
        first.Replace(cluster, match->replacement, out);
        return;
      }
    }
    for (size_t pos = 0; pos < cluster.size();) {
      std::string_view character =
          cluster.substr(pos, CharLength(static_cast<unsigned char>(cluster[pos])));
      auto match = map_.ShortestPrefix(character);
      std::string_view replacement = match ? std::string_view(match->replacement) : character;
      out += replacement;
      first.Replace(character, replacement, out);
      pos += character.size();
    }
  }

  CharsMap map_;
};

struct BertOptions {
  bool clean_text, handle_chinese_chars, strip_accents, lowercase;
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertOptions options) : options_(options) {}
  Status Apply(NormalizedText& t) const override {
    if (options_.clean_text) {
      MapCharacters(t, [](uint32_t c, std::string& out) {
        if (c == 0 || c == 0xFFFD || IsControl(c)) return;
        AppendUtf8(out, IsWhitespace(c) ? ' ' : c);
      });
    }
    if (options_.handle_chinese_chars) {
      MapCharacters(t, [](uint32_t c, std::string& out) {
        bool spaced = IsChinese(c);
        if (spaced) out += ' ';
        AppendUtf8(out, c);
        if (spaced) out += ' ';
      });
    }
    if (options_.strip_accents) {
      NormalizeText(t, NormalForm::kD);
      MapCharacters(t, [](uint32_t c, std::string& out) {
        if (!IsNonspacingMark(c)) AppendUtf8(out, c);
      });
    }
    if (options_.lowercase) {
      MapCharacters(t, [](uint32_t c, std::string& out) { AppendLowercase(out, c); });
    }
    return OkStatus();
  }

 private:
  BertOptions options_;
};

// One row a kind: how its object is read.
struct Context {
  const Json& json;
  JsonFields& fields;
  const std::string& where;
  int depth;
};
Made FromJson(const Json& json, const std::string& where, int depth);

template <NormalForm kForm>
Made MakeForm(const Context&) {
  return Made(std::make_unique<FormNormalizer>(kForm));
}
template <typename T>
Made MakePlain(const Context&) {
  return Made(std::make_unique<T>());
}

Made MakeSequence(const Context& c) {
  const Json* list = c.fields.Find("normalizers");
  if (!list || !list->is_array())
    return InvalidArgument(c.where, ": \"normalizers\" is not an array");
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (size_t i = 0; i < list->get_array().size(); ++i) {
    MOXIE_ASSIGN_OR_RETURN(
        auto step, FromJson(list->get_array()[i], StrCat(c.where, "[", i, "]"), c.depth + 1));
    steps.push_back(std::move(step));
  }
  return Made(std::make_unique<SequenceNormalizer>(std::move(steps)));
}

Made MakeStrip(const Context& c) {
  bool left = c.fields.Bool("strip_left").value_or(true);
  bool right = c.fields.Bool("strip_right").value_or(true);
  return Made(std::make_unique<StripNormalizer>(left, right));
}

Made MakePrepend(const Context& c) {
  return Made(std::make_unique<PrependNormalizer>(c.fields.String("prepend").value_or("")));
}

Made MakeReplace(const Context& c) {
  const Json* pattern = c.fields.Find("pattern");
  if (!pattern) return InvalidArgument(c.where, ": \"pattern\" is missing");
  MOXIE_ASSIGN_OR_RETURN(Pattern compiled, Pattern::FromJson(*pattern, c.where));
  std::string content = c.fields.String("content").value_or("");
  return Made(std::make_unique<ReplaceNormalizer>(std::move(compiled), std::move(content)));
}

Made MakePrecompiled(const Context& c) {
  std::optional<std::string> text = c.fields.String("precompiled_charsmap");
  if (!text) return InvalidArgument(c.where, ": \"precompiled_charsmap\" is missing");
  MOXIE_ASSIGN_OR_RETURN(std::string bytes, DecodeBase64(*text));
  MOXIE_ASSIGN_OR_RETURN(CharsMap map, CharsMap::Parse(bytes));
  return Made(std::make_unique<PrecompiledNormalizer>(std::move(map)));
}

Made MakeBert(const Context& c) {
  BertOptions o{};
  o.clean_text = c.fields.Bool("clean_text").value_or(true);
  o.handle_chinese_chars = c.fields.Bool("handle_chinese_chars").value_or(true);
  o.lowercase = c.fields.Bool("lowercase").value_or(true);
  o.strip_accents = c.fields.Bool("strip_accents").value_or(o.lowercase);
  return Made(std::make_unique<BertNormalizer>(o));
}

struct Kind {
  std::string_view name;
  Made (*make)(const Context&);
};
constexpr Kind kKinds[] = {
    {"Sequence", MakeSequence},
    {"NFC", MakeForm<NormalForm::kC>},
    {"NFD", MakeForm<NormalForm::kD>},
    {"NFKC", MakeForm<NormalForm::kKc>},
    {"NFKD", MakeForm<NormalForm::kKd>},
    {"Lowercase", MakePlain<LowercaseNormalizer>},
    {"StripAccents", MakePlain<StripAccentsNormalizer>},
    {"Nmt", MakePlain<NmtNormalizer>},
    {"ByteLevel", MakePlain<ByteLevelNormalizer>},
    {"Strip", MakeStrip},
    {"Prepend", MakePrepend},
    {"Replace", MakeReplace},
    {"Precompiled", MakePrecompiled},
    {"BertNormalizer", MakeBert},
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
    Made made = kind.make({json, fields, where, depth});
    MOXIE_RETURN_IF_ERROR(fields.status());
    return made;
  }
  return Unimplemented(where, ": normalizer \"", type, "\" is unknown");
}

}  // namespace

NormalizedText NormalizedText::Of(std::string text, bool at_start) {
  NormalizedText t{std::move(text), at_start};
  if (!t.text.empty()) t.first_end = CharLength(static_cast<unsigned char>(t.text[0]));
  return t;
}

Result<std::unique_ptr<Normalizer>> NormalizerFromJson(const Json& json, const std::string& where) {
  return FromJson(json, where, 0);
}

}  // namespace moxie::text
