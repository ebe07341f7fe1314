// A rendered chat to token ids.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace moxie::text {

// The ids of the whole prompt as one run: words and merges go across the borders of segments, and
// special tokens and markers are recognised only in what the template wrote. "Special" is what the
// tokenizer's own file calls so: control tokens such as <|im_start|>, which skip_special_tokens
// leaves out. Markers are those of its other added tokens that the template's source spells, such
// as <think>, <tool_call> or [INST]: the template gives them a meaning, so nobody else may. Added
// tokens that are neither (runs of spaces, HTML tags) are tokens in messages too, as they are in
// any text. ChatTemplateOptions::trust_content makes all of them count in messages.
// `add_special_tokens` asks for what the tokenizer puts around a text; it is not done where the
// template begins with BOS itself and the tokenizer would add another.
Result<std::vector<int32_t>> EncodeChat(const Tokenizer& tokenizer, const ChatPrompt& prompt,
                                        bool add_special_tokens = false);

}  // namespace moxie::text
