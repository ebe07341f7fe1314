// Base64 as RFC 4648 has it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace moxie::text {

Result<std::string> DecodeBase64(std::string_view text);

}  // namespace moxie::text
