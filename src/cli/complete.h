// moxie complete: continues a prompt on the terminal.
#pragma once

#include <span>
#include <string>

namespace moxie::cli {

int Complete(std::span<const std::string> args);

}  // namespace moxie::cli
