// moxie ir: a program in the text form of graphs, planned, and run on made-up numbers.
#pragma once

#include <span>
#include <string>

namespace moxie::cli {

int Ir(std::span<const std::string> args);

}  // namespace moxie::cli
