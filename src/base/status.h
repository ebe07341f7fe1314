// Errors as values. A Status says what was wrong, where, and what would work; a Result<T> is a
// value or a Status. No exception crosses a layer: code that calls a throwing library catches at
// the call.
//
// The base folder is the root namespace `moxie`; every other folder has its own.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace moxie {

// Kinds of failure that a caller may act on; everything else is in the message.
enum class StatusCode {
  kOk = 0,
  kInvalidArgument,     // the caller's input is wrong: flag, field, shape, config
  kNotFound,            // file, tensor, model, flag
  kDataLoss,            // a file is truncated or corrupt
  kResourceExhausted,   // a plan, pool, queue or cap says no
  kFailedPrecondition,  // right input at the wrong time
  kUnimplemented,       // known, valid, and not supported here
  kUnavailable,         // shutting down, port in use
  kInternal,            // a broken invariant of ours
};

// "INVALID_ARGUMENT" and so on.
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // What was wrong, outermost context first: `config.json: field "num_heads": expected an integer`.
  const std::string& message() const { return message_; }

  // This error seen from one level up: "<context>: <message>". OK stays OK.
  Status WithContext(std::string_view context) &&;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }

// Builds an error from streamable or string-like parts: InvalidArgument("expected ", 3, ", got ",
// n).
template <typename... Parts>
std::string StrCat(const Parts&... parts);

template <typename... Parts>
Status InvalidArgument(const Parts&... parts) {
  return {StatusCode::kInvalidArgument, StrCat(parts...)};
}
template <typename... Parts>
Status NotFound(const Parts&... parts) {
  return {StatusCode::kNotFound, StrCat(parts...)};
}
template <typename... Parts>
Status DataLoss(const Parts&... parts) {
  return {StatusCode::kDataLoss, StrCat(parts...)};
}
template <typename... Parts>
Status ResourceExhausted(const Parts&... parts) {
  return {StatusCode::kResourceExhausted, StrCat(parts...)};
}
template <typename... Parts>
Status FailedPrecondition(const Parts&... parts) {
  return {StatusCode::kFailedPrecondition, StrCat(parts...)};
}
template <typename... Parts>
Status Unimplemented(const Parts&... parts) {
  return {StatusCode::kUnimplemented, StrCat(parts...)};
}
template <typename... Parts>
Status Unavailable(const Parts&... parts) {
  return {StatusCode::kUnavailable, StrCat(parts...)};
}
template <typename... Parts>
Status Internal(const Parts&... parts) {
  return {StatusCode::kInternal, StrCat(parts...)};
}

// A value, or the reason there is none. REQUIRES for value(): ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {
    if (std::get<1>(state_).ok()) std::abort();  // an OK status is not a value
  }

  bool ok() const { return state_.index() == 0; }
  Status status() const& { return ok() ? Status() : std::get<1>(state_); }
  Status status() && { return ok() ? Status() : std::move(std::get<1>(state_)); }
  StatusCode code() const { return ok() ? StatusCode::kOk : std::get<1>(state_).code(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

namespace status_internal {
void Append(std::string& out, std::string_view s);
void Append(std::string& out, char c);
void Append(std::string& out, bool b);
void Append(std::string& out, double d);
void Append(std::string& out, long long i);
void Append(std::string& out, unsigned long long i);

template <typename T>
void AppendAny(std::string& out, const T& v) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    Append(out, std::string_view(v));
  } else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, bool>) {
    Append(out, v);
  } else if constexpr (std::is_floating_point_v<T>) {
    Append(out, static_cast<double>(v));
  } else if constexpr (std::is_unsigned_v<T>) {
    Append(out, static_cast<unsigned long long>(v));
  } else {
    Append(out, static_cast<long long>(v));
  }
}
}  // namespace status_internal

// Concatenates strings, characters, booleans and numbers.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::string out;
  (status_internal::AppendAny(out, parts), ...);
  return out;
}

}  // namespace moxie

#define MOXIE_CONCAT_INNER(a, b) a##b
#define MOXIE_CONCAT(a, b) MOXIE_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr`, a Status, is an error.
#define MOXIE_RETURN_IF_ERROR(expr)              \
  do {                                           \
    ::moxie::Status moxie_status = (expr);       \
    if (!moxie_status.ok()) return moxie_status; \
  } while (false)

// MOXIE_ASSIGN_OR_RETURN(auto x, F()): x is F()'s value, or the enclosing function returns F()'s
// error.
#define MOXIE_ASSIGN_OR_RETURN(lhs, expr) \
  MOXIE_ASSIGN_OR_RETURN_INNER(MOXIE_CONCAT(moxie_result_, __LINE__), lhs, expr)
#define MOXIE_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                 \
  if (!tmp.ok()) return std::move(tmp).status();     \
  lhs = std::move(tmp).value()
