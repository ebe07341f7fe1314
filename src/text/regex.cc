#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/unicode.h"

namespace moxie::text {
namespace {

constexpr size_t kMaxPatternBytes = 64 << 10;
constexpr size_t kJitStackStart = 32 << 10;
constexpr size_t kJitStackMax = 4 << 20;
// Steps of one match: far above what a sane pattern needs, a few seconds of a mad one.
constexpr uint32_t kMatchLimit = 20'000'000;
constexpr uint32_t kHeapLimitKib = 64 << 10;

struct ContextFree {
  void operator()(pcre2_match_context* c) const { pcre2_match_context_free(c); }
  void operator()(pcre2_jit_stack* s) const { pcre2_jit_stack_free(s); }
  void operator()(pcre2_match_data* d) const { pcre2_match_data_free(d); }
};

// What a thread needs to match: one pair of offsets, limits, and a stack for compiled code.
struct Matcher {
  std::unique_ptr<pcre2_match_data, ContextFree> data{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, ContextFree> context{pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_jit_stack, ContextFree> stack{
      pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr)};

  Matcher() {
    if (!usable()) return;
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
  bool usable() const { return data && context && stack; }
};

std::string PcreMessage(int code) {
  PCRE2_UCHAR buffer[160];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Result<Regex> Regex::Compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return InvalidArgument("regular expression of ", pattern.size(), " bytes is over the limit of ",
                           kMaxPatternBytes);
  }
  MOXIE_ASSIGN_OR_RETURN(std::string translated, TranslateOniguruma(pattern));
  return CompilePcre(translated, pattern);
}

Result<Regex> Regex::CompilePcre(const std::string& pattern, std::string_view written) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                   &offset, nullptr);
  if (!code) {
    return InvalidArgument("regular expression \"", written,
                           "\" does not compile: ", PcreMessage(error), " (at byte ", offset,
                           " of \"", pattern, "\")");
  }
  Regex regex(code);
  // Without JIT (a build of PCRE2 that lacks it) matching is slower and means the same.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return regex;
}

Status Regex::Run(std::string_view text, void (*found)(void*, size_t, size_t),
                  void* context) const {
  thread_local Matcher matcher;
  if (!matcher.usable()) return ResourceExhausted("no memory for matching a regular expression");
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t pos = 0;
  size_t last_end = std::string_view::npos;
  while (pos <= text.size()) {
    int rc = pcre2_match(code_.get(), subject, text.size(), pos, PCRE2_NO_UTF_CHECK,
                         matcher.data.get(), matcher.context.get());
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0) {
      return ResourceExhausted("matching a regular expression at byte ", pos, " of a text of ",
                               text.size(), " bytes failed: ", PcreMessage(rc));
    }
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(matcher.data.get());
    size_t begin = offsets[0], end = offsets[1];
    if (begin == end && begin == last_end) {
      if (pos >= text.size()) break;
      pos += CharLength(static_cast<unsigned char>(text[pos]));
      continue;
    }
    found(context, begin, end);
    last_end = end;
    pos = end;
  }
  return OkStatus();
}

}  // namespace moxie::text
