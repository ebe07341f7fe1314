// Which form of message content a chat template takes, read off its tree as vLLM does it.
#pragma once

#include <string_view>

namespace moxie::text {

enum class ContentFormat {
  kString,  // one string: text parts are joined
  kParts,   // a list of {type, text}
};

// kParts when the template loops over the content of a message (`for part in message.content`,
// under any names that lead there from `messages`, or `for part in content`, as macros have it).
// REQUIRES: the template parses; any other text is kString.
ContentFormat DetectContentFormat(std::string_view source);

}  // namespace moxie::text
