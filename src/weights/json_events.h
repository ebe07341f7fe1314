// JSON as a stream of events, for files whose size is an attacker's choice: memory stays with what
// the sink keeps, and a key that is written twice is seen twice (a parsed object would keep the
// last one).
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace moxie::weights {

// Receives the events of one value in the order of the text. An error ends the parse and is
// returned.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual Status Open(char bracket) = 0;   // '{' or '['
  virtual Status Close(char bracket) = 0;  // the same '{' or '[' again
  virtual Status Key(std::string_view key) = 0;
  virtual Status Scalar(const Json& value) = 0;  // string, number, boolean or null
};

// Strict RFC 8259 with valid UTF-8 and nothing but blanks after the value. Errors of the text
// itself name the byte: `byte 53: incomplete JSON`.
Status ParseJsonEvents(std::string_view text, JsonEvents& sink);

}  // namespace moxie::weights
