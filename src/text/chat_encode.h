// A rendered chat to token ids.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace moxie::text {

// The ids of the whole prompt as one run: words and merges go across the borders of segments, and
// special tokens are recognised only in what the template wrote. `add_special_tokens` asks for what
// the tokenizer puts around a text; it is not done where the template begins with BOS itself and
// the tokenizer would add another.
Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, const ChatPrompt& prompt,
                                        bool add_special_tokens = false);

}  // namespace moxie::text
