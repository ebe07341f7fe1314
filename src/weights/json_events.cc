#include "weights/json_events.h"

#include <boost/json/basic_parser_impl.hpp>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>

namespace moxie::weights {
namespace {

constexpr size_t kMaxDepth = 32;

// Boost.JSON's handler interface, joined into the four events.
class Handler {
 public:
  using ErrorCode = boost::json::error_code;
  using Text = boost::json::string_view;
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();

  explicit Handler(JsonEvents* sink) : sink_(sink) {}
  Status TakeStatus() { return std::move(status_); }

  bool on_document_begin(ErrorCode&) { return true; }
  bool on_document_end(ErrorCode&) { return true; }
  bool on_object_begin(ErrorCode& ec) { return Check(sink_->Open('{'), ec); }
  bool on_object_end(size_t, ErrorCode& ec) { return Check(sink_->Close('{'), ec); }
  bool on_array_begin(ErrorCode& ec) { return Check(sink_->Open('['), ec); }
  bool on_array_end(size_t, ErrorCode& ec) { return Check(sink_->Close('['), ec); }
  bool on_key_part(Text s, size_t, ErrorCode&) { return Append(s); }
  bool on_key(Text s, size_t, ErrorCode& ec) {
    Append(s);
    return Check(sink_->Key(std::exchange(text_, {})), ec);
  }
  bool on_string_part(Text s, size_t, ErrorCode&) { return Append(s); }
  bool on_string(Text s, size_t, ErrorCode& ec) {
    Append(s);
    return Check(sink_->Scalar(Json(std::exchange(text_, {}))), ec);
  }
  bool on_number_part(Text, ErrorCode&) { return true; }
  bool on_int64(int64_t i, Text, ErrorCode& ec) { return Check(sink_->Scalar(Json(i)), ec); }
  bool on_uint64(uint64_t u, Text, ErrorCode& ec) { return Check(sink_->Scalar(Json(u)), ec); }
  bool on_double(double d, Text, ErrorCode& ec) { return Check(sink_->Scalar(Json(d)), ec); }
  bool on_bool(bool b, ErrorCode& ec) { return Check(sink_->Scalar(Json(b)), ec); }
  bool on_null(ErrorCode& ec) { return Check(sink_->Scalar(Json(nullptr)), ec); }
  bool on_comment_part(Text, ErrorCode&) { return true; }
  bool on_comment(Text, ErrorCode&) { return true; }

 private:
  bool Append(Text s) {
    text_.append(s.data(), s.size());
    return true;
  }
  bool Check(Status status, ErrorCode& ec) {
    if (status.ok()) return true;
    status_ = std::move(status);
    ec = boost::json::error::syntax;  // any error: it only stops the parser
    return false;
  }

  JsonEvents* sink_;
  Status status_;
  std::string text_;
};

}  // namespace

Status ParseJsonEvents(std::string_view text, JsonEvents& sink) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::basic_parser<Handler> parser(options, &sink);
  try {
    boost::json::error_code ec;
    size_t used = parser.write_some(false, text.data(), text.size(), ec);
    Status refused = parser.handler().TakeStatus();
    if (!refused.ok()) return refused;
    if (ec) return InvalidArgument("byte ", used, ": ", ec.message());
    if (used < text.size()) return InvalidArgument("byte ", used, ": text after the JSON value");
    return OkStatus();
  } catch (const std::exception& e) {
    return ResourceExhausted("JSON: ", e.what());
  }
}

}  // namespace moxie::weights
