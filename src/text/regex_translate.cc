// Oniguruma's Ruby syntax to PCRE2's. A class becomes a PCRE2 class where it can, else an
// alternation of single-character matchers, so that unions, negations and intersections of any
// depth have a translation.
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "text/regex.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::string_view kAny = "[\\x{0}-\\x{10ffff}]";
constexpr std::string_view kSpaceItems =
    "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
    "\\x{3000}";
constexpr std::string_view kHexItems = "0-9A-Fa-f";

std::string Hex(uint32_t c) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), kDigits[c & 15]);
    c >>= 4;
  } while (c);
  return "\\x{" + digits + "}";
}

// A set of characters: what a PCRE2 class can list, and whole expressions of one character each.
struct Union {
  std::string items;
  std::vector<std::string> others;

  void Add(const Union& more) {
    items += more.items;
    others.insert(others.end(), more.others.begin(), more.others.end());
  }
  std::string Expression(bool negated) const {
    if (others.empty()) {
      if (items.empty()) return negated ? std::string(kAny) : "(?!)";
      return (negated ? "[^" : "[") + items + "]";
    }
    if (items.empty() && others.size() == 1 && !negated) return others[0];
    std::string all = items.empty() ? "" : "[" + items + "]";
    for (const std::string& o : others) all += (all.empty() ? "" : "|") + o;
    return negated ? "(?:(?!" + all + ")" + std::string(kAny) + ")" : "(?:" + all + ")";
  }
};

Union Complement(const Union& set) { return {"", {set.Expression(true)}}; }

std::optional<Union> NamedClass(std::string_view name) {
  const RegexClass* c = FindRegexClass(name);
  if (!c) return std::nullopt;
  Union set{std::string(c->base), {}};
  for (const CodeRange& r : c->extra) {
    set.items += Hex(r.first);
    if (r.last > r.first) set.items += "-" + Hex(r.last);
  }
  return set;
}

std::optional<Union> PosixClass(std::string_view name) {
  if (name == "space") return Union{std::string(kSpaceItems), {}};
  if (name == "xdigit") return Union{std::string(kHexItems), {}};
  if (name == "alpha") return NamedClass("Alpha");
  if (name == "word") return NamedClass("Word");
  if (name == "digit") return NamedClass("Nd");
  if (name == "alnum") {
    Union set = *NamedClass("Alpha");
    set.Add(*NamedClass("Nd"));
    return set;
  }
  return std::nullopt;
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<std::string> Run() {
    while (ok() && !AtEnd()) Step();
    if (!group_starts_.empty()) Fail("a group is not closed");
    if (!ok()) return status_;
    return std::move(out_);
  }

 private:
  bool ok() const { return status_.ok(); }
  bool AtEnd() const { return pos_ >= in_.size(); }
  bool Looking(std::string_view s) const { return in_.substr(pos_).starts_with(s); }
  char Take() { return in_[pos_++]; }
  void Fail(std::string_view what) {
    if (ok()) {
      status_ =
          InvalidArgument("regular expression \"", in_, "\": ", what, " (at byte ", pos_, ")");
    }
  }
  void Atom(std::string_view text) {
    atom_ = out_.size();
    out_ += text;
  }

  // Copies one whole character.
  void Literal() {
    size_t n = std::min(CharLength(static_cast<unsigned char>(in_[pos_])), in_.size() - pos_);
    Atom(in_.substr(pos_, n));
    pos_ += n;
  }

  void Step() {
    switch (in_[pos_]) {
      case '\\':
        return Escape();
      case '[': {
        ++pos_;
        std::string set = Class(0);
        return Atom(set);
      }
      case '(':
        return OpenGroup();
      case ')':
        return CloseGroup();
      case '{':
        return Interval();
      case '*':
      case '+':
      case '?':
      case '|':
        out_ += Take();
        return;
      default:
        return Literal();
    }
  }

  // \p{Name}, \p{^Name}, \P{Name}: after the backslash.
  std::optional<Union> Property() {
    bool negated = Take() == 'P';
    size_t close = in_.find('}', pos_);
    if (AtEnd() || in_[pos_] != '{' || close == std::string_view::npos) {
      Fail("\\p is followed by no {Name}");
      return std::nullopt;
    }
    std::string_view name = in_.substr(pos_ + 1, close - pos_ - 1);
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    std::optional<Union> set = name == "Any" ? Union{"\\x{0}-\\x{10ffff}", {}} : NamedClass(name);
    if (!set) {
      Fail(StrCat("unknown class \\p{", name, "}"));
      return std::nullopt;
    }
    pos_ = close + 1;
    return negated ? Complement(*set) : set;
  }

  // A class after a backslash (s, S, d, D, w, W, h, H, p, P), or nothing. \w has fewer members
  // inside a [class] than outside.
  std::optional<Union> EscapedClass(bool in_class) {
    char c = in_[pos_];
    if (c == 'p' || c == 'P') return Property();
    std::optional<Union> set;
    switch (c | 0x20) {
      case 's':
        set = Union{std::string(kSpaceItems), {}};
        break;
      case 'h':
        set = Union{std::string(kHexItems), {}};
        break;
      case 'd':
        set = NamedClass("Nd");
        break;
      case 'w':
        set = NamedClass(in_class ? "WordInSet" : "Word");
        break;
      default:
        return std::nullopt;
    }
    ++pos_;
    return c < 'a' ? Complement(*set) : set;
  }

  // \n, \x41, \x{1F600}, \u3042, \. and the like as a PCRE2 escape; empty if it is not one
  // character.
  std::string EscapedCharacter() {
    char c = Take();
    if (c == 'u' || (c == 'x' && !Looking("{"))) {
      size_t want = c == 'u' ? 4 : 2, n = 0;
      uint32_t value = 0;
      while (n < want && !AtEnd() && std::isxdigit(static_cast<unsigned char>(in_[pos_]))) {
        char d = Take();
        value = value * 16 + static_cast<uint32_t>(d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
        ++n;
      }
      if (n == 0 || (c == 'u' && n < want)) Fail("an escape lacks its hexadecimal digits");
      return Hex(value);
    }
    if (c == 'x') {
      size_t close = in_.find('}', pos_);
      if (close == std::string_view::npos) {
        Fail("\\x{ is not closed");
        return "";
      }
      std::string escape = "\\x" + std::string(in_.substr(pos_, close + 1 - pos_));
      pos_ = close + 1;
      return escape;
    }
    static constexpr std::string_view kControls = "nrtfaev";
    if (kControls.find(c) != std::string_view::npos)
      return c == 'v' ? "\\x0b" : std::string("\\") + c;
    if (static_cast<signed char>(c) < 0) {  // a backslash before a character beyond ASCII
      --pos_;
      size_t n = std::min(CharLength(static_cast<unsigned char>(c)), in_.size() - pos_);
      pos_ += n;
      return std::string(in_.substr(pos_ - n, n));
    }
    if (!std::isalnum(static_cast<unsigned char>(c))) return std::string("\\") + c;
    return "";
  }

  void Escape() {
    ++pos_;
    if (AtEnd()) return Fail("ends with a backslash");
    if (std::optional<Union> set = EscapedClass(false)) return Atom(set->Expression(false));
    if (!ok()) return;
    char c = in_[pos_];
    static constexpr std::string_view kSame = "AzZGKRX123456789";
    if (kSame.find(c) != std::string_view::npos) {
      ++pos_;
      return Atom(std::string("\\") + c);
    }
    if (c == 'b' || c == 'B') {
      ++pos_;
      return WordBoundary(c == 'B');
    }
    std::string one = EscapedCharacter();
    if (one.empty())
      return Fail(StrCat("the escape \\", std::string_view(&c, 1), " is not supported"));
    Atom(one);
  }

  void WordBoundary(bool negated) {
    std::string word = NamedClass("Word")->Expression(false);
    std::string at = "(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + ")";
    Atom(negated ? "(?!" + at + ")" : "(?:" + at + ")");
  }

  void OpenGroup() {
    size_t start = out_.size();
    if (group_starts_.size() >= kMaxDepth) return Fail("groups are nested too deeply");
    static constexpr std::string_view kSame[] = {
        "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?<", "(?#"};
    for (std::string_view opening : kSame) {
      if (!Looking(opening)) continue;
      out_ += opening;
      pos_ += opening.size();
      group_starts_.push_back(start);
      if (opening == "(?#") {
        while (!AtEnd() && in_[pos_] != ')') out_ += Take();
      }
      return;
    }
    if (Looking("(?")) return Options(start);
    out_ += Take();
    group_starts_.push_back(start);
  }

  // (?imx-imx:...) anywhere; (?i) only at the front, where both languages agree on its scope.
  void Options(size_t start) {
    size_t end = in_.find_first_of(":)", pos_);
    if (end == std::string_view::npos) return Fail("a group is not closed");
    std::string options(in_.substr(pos_ + 2, end - pos_ - 2));
    for (char& c : options) {
      if (c == 'm')
        c = 's';  // Ruby's m: the dot matches line ends
      else if (c != 'i' && c != 'x' && c != '-')
        return Fail("this kind of group is not supported");
    }
    if (in_[end] == ')' && start != 0) return Fail("options in the middle are not supported");
    out_ += "(?" + options + in_[end];
    if (in_[end] == ':') group_starts_.push_back(start);
    pos_ = end + 1;
  }

  void CloseGroup() {
    if (group_starts_.empty()) return Fail("unmatched )");
    atom_ = group_starts_.back();
    group_starts_.pop_back();
    out_ += Take();
  }

  // {n}, {n,}, {,m}, {n,m} after an atom, or a plain brace.
  void Interval() {
    size_t p = pos_ + 1;
    auto digits = [&] {
      size_t begin = p;
      while (p < in_.size() && in_[p] >= '0' && in_[p] <= '9') ++p;
      return in_.substr(begin, p - begin);
    };
    std::string_view low = digits(), high;
    bool comma = p < in_.size() && in_[p] == ',';
    if (comma) {
      ++p;
      high = digits();
    }
    if (p >= in_.size() || in_[p] != '}' || (low.empty() && high.empty())) {
      ++pos_;
      return Atom("\\{");
    }
    std::string quantifier =
        "{" + (low.empty() ? "0" : std::string(low)) + (comma ? "," : "") + std::string(high) + "}";
    pos_ = p + 1;
    bool repeated = !AtEnd() && (in_[pos_] == '+' || (in_[pos_] == '?' && !comma));
    if (repeated) {  // not possessive, and x{2}? is optional: a quantifier of the whole
      out_.insert(atom_, "(?:");
      out_ += quantifier + ")" + Take();
    } else {
      out_ += quantifier;
    }
  }

  // After '[': an expression of one character.
  std::string Class(int depth) { return ClassSet(depth).Expression(false); }

  Union ClassSet(int depth) {
    if (depth > kMaxDepth) {
      Fail("classes are nested too deeply");
      return {};
    }
    bool negated = Looking("^");
    if (negated) ++pos_;
    std::vector<Union> operands(1);
    bool after_set = true;  // whether a '-' here cannot be a range
    while (ok()) {
      if (AtEnd()) {
        Fail("a class is not closed");
        break;
      }
      if (Looking("]")) {
        ++pos_;
        break;
      }
      if (Looking("&&")) {
        pos_ += 2;
        operands.emplace_back();
        after_set = true;
        continue;
      }
      after_set = ClassItem(operands.back(), after_set, depth);
    }
    Union set = Intersect(operands);
    return negated ? Complement(set) : set;
  }

  static Union Intersect(const std::vector<Union>& operands) {
    if (operands.size() == 1) return operands[0];
    std::string all;
    for (size_t i = 0; i + 1 < operands.size(); ++i)
      all += "(?=" + operands[i].Expression(false) + ")";
    return {"", {"(?:" + all + operands.back().Expression(false) + ")"}};
  }

  // Adds one item of a class to `set`; returns whether it was a set and not a character.
  bool ClassItem(Union& set, bool after_set, int depth) {
    if (Looking("[:")) {
      size_t close = in_.find(":]", pos_);
      std::string_view name =
          in_.substr(pos_ + 2, close == std::string_view::npos ? 0 : close - pos_ - 2);
      std::optional<Union> posix = PosixClass(name);
      if (!posix) {
        Fail(StrCat("the class [:", name, ":] is not supported"));
        return true;
      }
      pos_ = close + 2;
      set.Add(*posix);
      return true;
    }
    if (Looking("[")) {
      ++pos_;
      set.Add(ClassSet(depth + 1));
      return true;
    }
    if (Looking("\\")) {
      ++pos_;
      if (AtEnd()) {
        Fail("ends with a backslash");
        return true;
      }
      if (std::optional<Union> named = EscapedClass(true)) {
        set.Add(*named);
        return true;
      }
      if (!ok()) return true;
      if (Looking("b")) {
        ++pos_;
        set.items += "\\x08";
        return false;
      }
      std::string one = EscapedCharacter();
      if (one.empty()) Fail("this escape is not supported in a class");
      set.items += one;
      return EndsRange();
    }
    if (Looking("-")) {
      ++pos_;
      bool set_follows = Looking("]") || Looking("\\s") || Looking("\\p") || Looking("\\w") ||
                         Looking("\\d") || Looking("[") || Looking("&&");
      bool range = !after_set && !set_follows;
      set.items += range ? "-" : "\\-";
      in_range_ = range;
      return !range;
    }
    size_t n = std::min(CharLength(static_cast<unsigned char>(in_[pos_])), in_.size() - pos_);
    if (n == 1 && !std::isalnum(static_cast<unsigned char>(in_[pos_]))) {
      set.items += Hex(static_cast<unsigned char>(in_[pos_]));
    } else {
      set.items += in_.substr(pos_, n);
    }
    pos_ += n;
    return EndsRange();
  }

  // After a character: whether it was the end of a range, so that a '-' behind it is itself.
  bool EndsRange() { return std::exchange(in_range_, false); }

  std::string_view in_;
  size_t pos_ = 0;
  std::string out_;
  bool in_range_ = false;
  size_t atom_ = 0;  // where the last atom of out_ starts
  std::vector<size_t> group_starts_;
  Status status_;
};

}  // namespace

Result<std::string> TranslateOniguruma(std::string_view pattern) {
  if (!IsValidUtf8(pattern)) return InvalidArgument("a regular expression is not valid UTF-8");
  return Translator(pattern).Run();
}

}  // namespace moxie::text
