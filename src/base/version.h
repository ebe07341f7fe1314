// The version of this build, from CMakeLists.txt.
#pragma once

#include <string_view>

namespace moxie {

std::string_view Version();  // "0.1.0"

}  // namespace moxie
