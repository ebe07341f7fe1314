#include "text/decoder.h"

#include <algorithm>
#include <cctype>

#include "config/json_fields.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

using config::JsonFields;
using Steps = std::vector<std::unique_ptr<const DecodeStep>>;

constexpr int kMaxDepth = 16;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The byte of "<0x41>", or -1.
int ByteOfPiece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  int value = 0;
  // As Rust's from_str_radix, which also takes a sign: "+F" is 15.
  std::string_view digits = piece.substr(3, 2);
  if (digits[0] == '+') digits.remove_prefix(1);
  for (char c : digits) {
    if (!std::isxdigit(static_cast<unsigned char>(c))) return -1;
    value = value * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

// Collects each token whole, then calls Token(text, index).
class WholeTokenStage : public DecodeStage {
 public:
  void Push(std::string_view chunk, bool begins, bool ends) override {
    if (begins && ends) return Token(chunk, index_++);
    buffer_ += chunk;
    if (!ends) return;
    Token(buffer_, index_++);
    buffer_.clear();
  }
  void Finish() override {
    End();
    index_ = 0;
    buffer_.clear();
    next().Finish();
  }

 protected:
  virtual void Token(std::string_view text, size_t index) = 0;
  virtual void End() {}
  void Give(std::string_view token) { next().Push(token, true, true); }

 private:
  std::string buffer_;
  size_t index_ = 0;
};

// Everything that passes is one token.
class FuseStage : public DecodeStage {
 public:
  void Push(std::string_view chunk, bool, bool) override { Give(chunk, false); }
  void Finish() override {
    Give("", true);
    first_ = true;
    next().Finish();
  }

 private:
  void Give(std::string_view chunk, bool ends) {
    if (chunk.empty() && !ends) return;
    next().Push(chunk, first_, ends);
    first_ = false;
  }
  bool first_ = true;
};

// Bytes of GPT-2's alphabet; a token with another character is its own UTF-8. Broken sequences
// become U+FFFD, each maximal part one.
class ByteLevelStage : public WholeTokenStage {
 public:
  void Token(std::string_view text, size_t) override {
    if (!AppendBytesOfChars(pending_, text)) pending_ += text;
    Drain(false);
  }
  void End() override {
    Drain(true);
    next().Push("", first_, true);
    first_ = true;
  }

 private:
  void Drain(bool last) {
    std::string_view rest = pending_;
    while (!rest.empty()) {
      size_t good = ValidUtf8Prefix(rest);
      Give(rest.substr(0, good));
      rest.remove_prefix(good);
      if (rest.empty()) break;
      bool unfinished;
      size_t broken = BrokenUtf8Part(rest, &unfinished);
      if (unfinished && !last) break;
      Give(kReplacement);
      rest.remove_prefix(broken);
    }
    pending_.erase(0, pending_.size() - rest.size());
  }
  void Give(std::string_view chunk) {
    if (chunk.empty()) return;
    next().Push(chunk, first_, false);
    first_ = false;
  }

  std::string pending_;
  bool first_ = true;
};

// A run of byte tokens is one token: its text when it is valid, else a U+FFFD for each byte. So a
// run cannot be given before it ends.
class ByteFallbackStage : public WholeTokenStage {
 public:
  void Token(std::string_view text, size_t) override {
    int byte = ByteOfPiece(text);
    if (byte >= 0) {
      run_ += static_cast<char>(byte);
      return;
    }
    End();
    WholeTokenStage::Give(text);
  }
  void End() override {
    if (run_.empty()) return;
    if (IsValidUtf8(run_)) {
      WholeTokenStage::Give(run_);
    } else {
      for (size_t i = 0; i < run_.size(); ++i) WholeTokenStage::Give(kReplacement);
    }
    run_.clear();
  }

 private:
  std::string run_;
};

// Replaces a literal text in each token; holds back what may be its beginning.
class ReplaceLiteralStage : public DecodeStage {
 public:
  ReplaceLiteralStage(const std::string& from, const std::string& to) : from_(from), to_(to) {}
  void Push(std::string_view chunk, bool begins, bool ends) override {
    begins_ = begins_ || begins;
    held_ += chunk;
    ReplaceFound();
    size_t keep = ends ? 0 : PossibleStart();
    out_.append(held_, 0, held_.size() - keep);
    held_.erase(0, held_.size() - keep);
    if (out_.empty() && !ends) return;
    next().Push(out_, begins_, ends);
    out_.clear();
    begins_ = false;
  }
  void Finish() override {
    begins_ = false;
    next().Finish();
  }

 private:
  void ReplaceFound() {
    size_t done = 0;
    for (size_t at = held_.find(from_); at != std::string::npos; at = held_.find(from_, done)) {
      out_.append(held_, done, at - done);
      out_ += to_;
      done = at + from_.size();
    }
    held_.erase(0, done);
  }
  // The length of the longest end of held_ that is a beginning of from_. Both are whole characters,
  // so it starts at one.
  size_t PossibleStart() const {
    for (size_t n = std::min(from_.size() - 1, held_.size()); n > 0; --n) {
      if (held_.compare(held_.size() - n, n, from_, 0, n) == 0) return n;
    }
    return 0;
  }

  const std::string& from_;
  const std::string& to_;
  std::string held_;
  std::string out_;
  bool begins_ = false;
};

class ReplaceRegexStage : public WholeTokenStage {
 public:
  ReplaceRegexStage(const Pattern& pattern, const std::string& to) : pattern_(pattern), to_(to) {}
  void Token(std::string_view text, size_t) override {
    std::string out;
    size_t done = 0;
    // A pattern that exceeds its limits on one token's text leaves the rest of it as it is.
    (void)pattern_.ForEachMatch(text, [&](size_t begin, size_t end) {
      out += text.substr(done, begin - done);
      out += to_;
      done = end;
    });
    out += text.substr(done);
    Give(out);
  }

 private:
  const Pattern& pattern_;
  const std::string& to_;
};

// Takes up to `start` characters `content` off a token's front and up to `stop` off its end.
class StripStage : public DecodeStage {
 public:
  StripStage(const std::string& content, int64_t start, int64_t stop)
      : content_(content), start_(start), stop_(stop), to_strip_(start) {}
  void Push(std::string_view chunk, bool begins, bool ends) override {
    if (begins) to_strip_ = start_;
    while (to_strip_ > 0 && chunk.starts_with(content_)) {
      chunk.remove_prefix(content_.size());
      --to_strip_;
    }
    if (!chunk.empty()) to_strip_ = 0;
    held_ += chunk;
    size_t tail = held_.size();
    for (int64_t n = 0; n < stop_ && std::string_view(held_).substr(0, tail).ends_with(content_);
         ++n) {
      tail -= content_.size();
    }
    begins_ = begins_ || begins;
    if (tail > 0 || ends) {
      next().Push(std::string_view(held_).substr(0, tail), begins_, ends);
      begins_ = false;
    }
    held_.erase(0, ends ? held_.size() : tail);
  }
  void Finish() override {
    held_.clear();
    begins_ = false;
    to_strip_ = start_;
    next().Finish();
  }

 private:
  const std::string& content_;
  const int64_t start_, stop_;
  int64_t to_strip_;
  std::string held_;
  bool begins_ = false;
};

void CleanUp(std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) ReplaceAll(text, from, to);
}

class WordPieceStage : public WholeTokenStage {
 public:
  WordPieceStage(const std::string& prefix, bool cleanup) : prefix_(prefix), cleanup_(cleanup) {}
  void Token(std::string_view text, size_t index) override {
    std::string out;
    if (index > 0 && text.starts_with(prefix_)) {
      out = text.substr(prefix_.size());
    } else {
      if (index > 0) out = " ";
      out += text;
    }
    if (cleanup_) CleanUp(out);
    Give(out);
  }

 private:
  const std::string& prefix_;
  const bool cleanup_;
};

// The suffix that ends a word is a space, but nothing in the last token: a token that has it waits
// for the next.
class SuffixStage : public WholeTokenStage {
 public:
  explicit SuffixStage(const std::string& suffix) : suffix_(suffix) {}
  void Token(std::string_view text, size_t) override {
    Release(" ");
    held_ = text;
    holds_ = true;
    if (held_.find(suffix_) == std::string::npos) Release("");
  }
  void End() override { Release(""); }

 private:
  void Release(std::string_view replacement) {
    if (!holds_) return;
    ReplaceAll(held_, suffix_, replacement);
    Give(held_);
    holds_ = false;
  }
  const std::string& suffix_;
  std::string held_;
  bool holds_ = false;
};

// The mark is a space; in the first token it is nothing when the encoder put one in front.
class MetaspaceStage : public DecodeStage {
 public:
  MetaspaceStage(const std::string& mark, bool drop_first) : mark_(mark), drop_first_(drop_first) {}
  void Push(std::string_view chunk, bool begins, bool ends) override {
    std::string out(chunk);
    ReplaceAll(out, mark_, first_ && drop_first_ ? "" : " ");
    next().Push(out, begins, ends);
    if (ends) first_ = false;
  }
  void Finish() override {
    first_ = true;
    next().Finish();
  }

 private:
  const std::string& mark_;
  const bool drop_first_;
  bool first_ = true;
};

// A token that repeats the one before it is dropped, then the padding, then what is empty.
struct CtcOptions {
  std::string pad_token, word_delimiter_token;
  bool cleanup = true;
};
class CtcStage : public WholeTokenStage {
 public:
  explicit CtcStage(const CtcOptions& options) : options_(options) {}
  void Token(std::string_view text, size_t index) override {
    if (index > 0 && before_ == text) return;
    before_ = text;
    std::string out = before_;
    ReplaceAll(out, options_.pad_token, "");
    if (options_.cleanup) {
      CleanUp(out);
      ReplaceAll(out, options_.word_delimiter_token, " ");
    }
    if (!out.empty()) Give(out);
  }

 private:
  const CtcOptions& options_;
  std::string before_;
};

class JoinStage : public WholeTokenStage {
 public:
  void Token(std::string_view text, size_t index) override {
    Give(index == 0 ? std::string(text) : " " + std::string(text));
  }
};

// The steps: options and what each makes of a single token.
template <typename Stage>
class PlainStep : public DecodeStep {
 public:
  std::unique_ptr<DecodeStage> MakeStage() const override { return std::make_unique<Stage>(); }
};
class FuseStep : public PlainStep<FuseStage> {
 public:
  bool Fuses() const override { return true; }
};
class ByteLevelStep : public PlainStep<ByteLevelStage> {
 public:
  std::string BytesOf(std::string piece) const override {
    std::string bytes;
    return AppendBytesOfChars(bytes, piece) ? bytes : piece;
  }
  bool Fuses() const override { return true; }
};
class ByteFallbackStep : public PlainStep<ByteFallbackStage> {
 public:
  std::string BytesOf(std::string piece) const override {
    int byte = ByteOfPiece(piece);
    return byte < 0 ? piece : std::string(1, static_cast<char>(byte));
  }
};
class JoinStep : public PlainStep<JoinStage> {
 public:
  std::string BytesOf(std::string piece) const override { return " " + piece; }
};

class ReplaceStep : public DecodeStep {
 public:
  ReplaceStep(Pattern pattern, std::string to) : pattern_(std::move(pattern)), to_(std::move(to)) {}
  std::unique_ptr<DecodeStage> MakeStage() const override {
    if (pattern_.literal()) return std::make_unique<ReplaceLiteralStage>(*pattern_.literal(), to_);
    return std::make_unique<ReplaceRegexStage>(pattern_, to_);
  }
  std::string BytesOf(std::string piece) const override {
    std::string out;
    DecodeOutput output;
    output.set_out(&out);
    auto stage = MakeStage();
    stage->set_next(&output);
    stage->Push(piece, true, true);
    return out;
  }
  bool NeedsWholeTokens() const { return !pattern_.literal(); }

 private:
  Pattern pattern_;
  std::string to_;
};

class StripStep : public DecodeStep {
 public:
  StripStep(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  std::unique_ptr<DecodeStage> MakeStage() const override {
    return std::make_unique<StripStage>(content_, start_, stop_);
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

class WordPieceStep : public DecodeStep {
 public:
  WordPieceStep(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  std::unique_ptr<DecodeStage> MakeStage() const override {
    return std::make_unique<WordPieceStage>(prefix_, cleanup_);
  }
  std::string BytesOf(std::string piece) const override {
    std::string out = piece.starts_with(prefix_) ? piece.substr(prefix_.size()) : " " + piece;
    if (cleanup_) CleanUp(out);
    return out;
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class SuffixStep : public DecodeStep {
 public:
  explicit SuffixStep(std::string suffix) : suffix_(std::move(suffix)) {}
  std::unique_ptr<DecodeStage> MakeStage() const override {
    return std::make_unique<SuffixStage>(suffix_);
  }
  std::string BytesOf(std::string piece) const override {
    ReplaceAll(piece, suffix_, " ");
    return piece;
  }

 private:
  std::string suffix_;
};

class MetaspaceStep : public DecodeStep {
 public:
  MetaspaceStep(std::string mark, bool drop_first)
      : mark_(std::move(mark)), drop_first_(drop_first) {}
  std::unique_ptr<DecodeStage> MakeStage() const override {
    return std::make_unique<MetaspaceStage>(mark_, drop_first_);
  }
  std::string BytesOf(std::string piece) const override {
    ReplaceAll(piece, mark_, " ");
    return piece;
  }

 private:
  std::string mark_;
  bool drop_first_;
};

class CtcStep : public DecodeStep {
 public:
  explicit CtcStep(CtcOptions options) : options_(std::move(options)) {}
  std::unique_ptr<DecodeStage> MakeStage() const override {
    return std::make_unique<CtcStage>(options_);
  }

 private:
  CtcOptions options_;
};

// One row a kind: reads its object and adds its steps. `fused`: all tokens come as one.
struct Context {
  JsonFields& fields;
  const std::string& where;
  int depth;
  bool fused;
};
Status AddSteps(const Json& json, const std::string& where, int depth, bool fused, Steps& steps);

template <typename Step>
Status AddPlain(const Context&, Steps& steps) {
  steps.push_back(std::make_unique<Step>());
  return OkStatus();
}

std::string NotEmpty(JsonFields& fields, std::string_view field, std::string_view fallback) {
  std::string text = fields.String(field).value_or(std::string(fallback));
  if (text.empty()) fields.Fail(field, "must not be empty");
  return text;
}

Status AddSequence(const Context& c, Steps& steps) {
  const Json* list = c.fields.Find("decoders");
  if (!list || !list->is_array()) return InvalidArgument(c.where, ": \"decoders\" is not an array");
  bool fused = c.fused;
  for (size_t i = 0; i < list->get_array().size(); ++i) {
    MOXIE_RETURN_IF_ERROR(
        AddSteps(list->get_array()[i], StrCat(c.where, "[", i, "]"), c.depth + 1, fused, steps));
    fused = fused || (!steps.empty() && steps.back()->Fuses());
  }
  return OkStatus();
}

Status AddReplace(const Context& c, Steps& steps) {
  const Json* pattern = c.fields.Find("pattern");
  if (!pattern) return InvalidArgument(c.where, ": \"pattern\" is missing");
  MOXIE_ASSIGN_OR_RETURN(Pattern compiled, Pattern::FromJson(*pattern, c.where));
  auto step =
      std::make_unique<ReplaceStep>(std::move(compiled), c.fields.String("content").value_or(""));
  if (c.fused && step->NeedsWholeTokens()) {
    return Unimplemented(c.where, ": a regular expression over the whole text cannot be streamed");
  }
  steps.push_back(std::move(step));
  return OkStatus();
}

Status AddStrip(const Context& c, Steps& steps) {
  std::string content = NotEmpty(c.fields, "content", " ");
  int64_t start = c.fields.IntOr("start", {.min = 0}, 0);
  int64_t stop = c.fields.IntOr("stop", {.min = 0}, 0);
  steps.push_back(std::make_unique<StripStep>(content, start, stop));
  return OkStatus();
}

Status AddWordPiece(const Context& c, Steps& steps) {
  steps.push_back(std::make_unique<WordPieceStep>(c.fields.String("prefix").value_or("##"),
                                                  c.fields.Bool("cleanup").value_or(true)));
  return OkStatus();
}

Status AddSuffix(const Context& c, Steps& steps) {
  steps.push_back(std::make_unique<SuffixStep>(NotEmpty(c.fields, "suffix", "</w>")));
  return OkStatus();
}

Status AddMetaspace(const Context& c, Steps& steps) {
  bool never = c.fields.String("prepend_scheme").value_or("always") == "never" ||
               !c.fields.Bool("add_prefix_space").value_or(true);
  steps.push_back(
      std::make_unique<MetaspaceStep>(NotEmpty(c.fields, "replacement", "\xE2\x96\x81"), !never));
  return OkStatus();
}

Status AddCtc(const Context& c, Steps& steps) {
  CtcOptions o;
  o.pad_token = NotEmpty(c.fields, "pad_token", "<pad>");
  o.word_delimiter_token = NotEmpty(c.fields, "word_delimiter_token", "|");
  o.cleanup = c.fields.Bool("cleanup").value_or(true);
  steps.push_back(std::make_unique<CtcStep>(std::move(o)));
  return OkStatus();
}

struct Kind {
  std::string_view name;
  Status (*add)(const Context&, Steps&);
};
constexpr Kind kKinds[] = {
    {"Sequence", AddSequence},
    {"ByteLevel", AddPlain<ByteLevelStep>},
    {"ByteFallback", AddPlain<ByteFallbackStep>},
    {"Fuse", AddPlain<FuseStep>},
    {"Replace", AddReplace},
    {"Strip", AddStrip},
    {"Metaspace", AddMetaspace},
    {"WordPiece", AddWordPiece},
    {"BPEDecoder", AddSuffix},
    {"CTC", AddCtc},
};

Status AddSteps(const Json& json, const std::string& where, int depth, bool fused, Steps& steps) {
  if (!json.is_object() || depth > kMaxDepth) {
    return InvalidArgument(where, ": expected an object with a \"type\", nested less than ",
                           kMaxDepth, " deep");
  }
  JsonFields fields(json.get_object(), where);
  std::string type = fields.String("type").value_or("");
  for (const Kind& kind : kKinds) {
    if (kind.name != type) continue;
    MOXIE_RETURN_IF_ERROR(kind.add({fields, where, depth, fused}, steps));
    return fields.status();
  }
  return Unimplemented(where, ": decoder \"", type, "\" is unknown");
}

}  // namespace

Result<Decoder> Decoder::FromJson(const Json& json, const std::string& where) {
  Decoder decoder;
  if (json.is_null()) {
    decoder.steps_.push_back(std::make_unique<JoinStep>());
    return decoder;
  }
  MOXIE_RETURN_IF_ERROR(AddSteps(json, where, 0, false, decoder.steps_));
  return decoder;
}

Decoder Decoder::ByteLevel() {
  Decoder decoder;
  decoder.steps_.push_back(std::make_unique<ByteLevelStep>());
  return decoder;
}

Decoder Decoder::SentencePiece(bool strip_first) {
  Decoder decoder;
  decoder.steps_.push_back(std::make_unique<ReplaceStep>(Pattern::Literal("\xE2\x96\x81"), " "));
  decoder.steps_.push_back(std::make_unique<ByteFallbackStep>());
  decoder.steps_.push_back(std::make_unique<FuseStep>());
  if (strip_first) decoder.steps_.push_back(std::make_unique<StripStep>(" ", 1, 0));
  return decoder;
}

Decoder Decoder::WordPiece(std::string prefix, bool cleanup) {
  Decoder decoder;
  decoder.steps_.push_back(std::make_unique<WordPieceStep>(std::move(prefix), cleanup));
  return decoder;
}

std::vector<std::unique_ptr<DecodeStage>> Decoder::MakeStages() const {
  std::vector<std::unique_ptr<DecodeStage>> stages;
  for (const auto& step : steps_) stages.push_back(step->MakeStage());
  stages.push_back(std::make_unique<DecodeOutput>());
  for (size_t i = 0; i + 1 < stages.size(); ++i) stages[i]->set_next(stages[i + 1].get());
  return stages;
}

std::string Decoder::BytesOf(std::string_view piece) const {
  std::string bytes(piece);
  for (const auto& step : steps_) bytes = step->BytesOf(std::move(bytes));
  return bytes;
}

}  // namespace moxie::text
