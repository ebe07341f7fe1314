// The regular expressions by which known families of models split a text, by the names that GGUF
// files ("tokenizer.ggml.pre") and tokenizer files give them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace moxie::text {

// The expressions, applied in turn, of a split; empty when the name is unknown.
std::vector<std::string> SplitRegexes(std::string_view name);

}  // namespace moxie::text
