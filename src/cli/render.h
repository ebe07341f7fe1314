// moxie render: the prompt that a model's chat template makes of messages.
#pragma once

#include <span>
#include <string>

namespace moxie::cli {

int Render(std::span<const std::string> args);

}  // namespace moxie::cli
