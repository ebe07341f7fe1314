// moxie tokenize, moxie detokenize: the model's tokenizer by itself.
#pragma once

#include <span>
#include <string>

namespace moxie::cli {

// Prints the ids of a text as one JSON array.
int Tokenize(std::span<const std::string> args);

// Prints the text of ids, and a line feed. An id that no token has is an error.
int Detokenize(std::span<const std::string> args);

}  // namespace moxie::cli
