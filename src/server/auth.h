// The API key guard, with vLLM's reach: /v1, /v2 and /inference.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace moxie::server {

bool IsGuarded(std::string_view path);

// Whether an Authorization header, `Bearer KEY`, carries one of the keys. Takes the same time for
// every wrong key of one length.
bool Authorized(std::string_view authorization, std::span<const std::string> keys);

}  // namespace moxie::server
