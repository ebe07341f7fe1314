// moxie bench: prompt and generation speed, without server or tokenizer.
#pragma once

#include <span>
#include <string>

namespace moxie::cli {

int Bench(std::span<const std::string> args);

}  // namespace moxie::cli
