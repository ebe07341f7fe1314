// moxie serve: the OpenAI API over HTTP.
#pragma once

#include <span>
#include <string>

namespace moxie::cli {

int Serve(std::span<const std::string> args);

}  // namespace moxie::cli
