#include "text/detokenizer.h"

#include "text/tokenizer_parts.h"

namespace moxie::text {

IncrementalDetokenizer::IncrementalDetokenizer(const Tokenizer& tokenizer, bool skip_special_tokens)
    : tokenizer_(&tokenizer),
      skip_special_(skip_special_tokens),
      stages_(tokenizer.parts().decoder.MakeStages()) {}
IncrementalDetokenizer::~IncrementalDetokenizer() = default;
IncrementalDetokenizer::IncrementalDetokenizer(IncrementalDetokenizer&&) noexcept = default;
IncrementalDetokenizer& IncrementalDetokenizer::operator=(IncrementalDetokenizer&&) noexcept =
    default;

void IncrementalDetokenizer::Push(int32_t id, std::string& out) {
  if (!tokenizer_->HasToken(id) || (skip_special_ && tokenizer_->IsSpecial(id))) return;
  static_cast<DecodeOutput&>(*stages_.back()).set_out(&out);
  stages_.front()->Push(tokenizer_->TokenPiece(id), true, true);
}

std::string IncrementalDetokenizer::Push(int32_t id) {
  std::string out;
  Push(id, out);
  return out;
}

std::string IncrementalDetokenizer::Flush() {
  std::string out;
  static_cast<DecodeOutput&>(*stages_.back()).set_out(&out);
  stages_.front()->Finish();
  return out;
}

}  // namespace moxie::text
