#include "base/status.h"

#include <charconv>

namespace moxie {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kInternal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

Status Status::WithContext(std::string_view context) && {
  if (ok()) return {};
  return {code_, StrCat(context, ": ", message_)};
}

namespace status_internal {

namespace {
template <typename T>
void AppendNumber(std::string& out, T v) {
  char buffer[40];
  auto [end, ec] = std::to_chars(buffer, buffer + sizeof buffer, v);
  out.append(buffer, end);
}
}  // namespace

void Append(std::string& out, std::string_view s) { out.append(s); }
void Append(std::string& out, char c) { out.push_back(c); }
void Append(std::string& out, bool b) { out.append(b ? "true" : "false"); }
void Append(std::string& out, double d) { AppendNumber(out, d); }
void Append(std::string& out, long long i) { AppendNumber(out, i); }
void Append(std::string& out, unsigned long long i) { AppendNumber(out, i); }

}  // namespace status_internal
}  // namespace moxie
