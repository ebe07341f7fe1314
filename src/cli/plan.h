// moxie plan: every byte that serving would use, without loading anything.
#pragma once

#include <span>
#include <string>

namespace moxie::cli {

int Plan(std::span<const std::string> args);

}  // namespace moxie::cli
