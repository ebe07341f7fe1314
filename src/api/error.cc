#include "api/error.h"

#include <algorithm>

#include "api/fields.h"

namespace moxie::api {
namespace {

// One row a kind of failure: what the client is told.
struct ErrorRow {
  StatusCode code;
  int http_status;
  std::string_view type;
};
constexpr ErrorRow kErrors[] = {
    {StatusCode::kInvalidArgument, 400, "BadRequestError"},
    {StatusCode::kNotFound, 404, "NotFoundError"},
    {StatusCode::kResourceExhausted, 503, "ServiceUnavailableError"},
    {StatusCode::kUnavailable, 503, "ServiceUnavailableError"},
    {StatusCode::kUnimplemented, 501, "NotImplementedError"},
};

struct PhraseRow {
  int http_status;
  std::string_view phrase;
};
constexpr PhraseRow kPhrases[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Request Entity Too Large"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
};

// The field that a message starts with: up to the ':', without an index or a member's name.
std::string_view LeadingField(std::string_view message) {
  const std::string_view path = message.substr(0, message.find(':'));
  const std::string_view field = path.substr(0, path.find_first_of(".["));
  return IsField(field) ? path : std::string_view();
}

}  // namespace

ApiError ErrorOf(const Status& status) {
  const auto* row = std::ranges::find(kErrors, status.code(), &ErrorRow::code);
  if (row == std::end(kErrors)) return {500, "InternalServerError", status.message(), ""};
  return {row->http_status, std::string(row->type), status.message(),
          std::string(LeadingField(status.message()))};
}

ApiError HttpError(int http_status, std::string message) {
  return {http_status, std::string(HttpPhrase(http_status)), std::move(message), ""};
}

std::string_view HttpPhrase(int http_status) {
  const auto* row = std::ranges::find(kPhrases, http_status, &PhraseRow::http_status);
  return row == std::end(kPhrases) ? std::string_view("Error") : row->phrase;
}

JsonObject ErrorBody(const ApiError& error) {
  Json param = error.param.empty() ? Json(nullptr) : Json(error.param);
  return {{"error", JsonObject{{"message", error.message},
                               {"type", error.type},
                               {"param", std::move(param)},
                               {"code", error.http_status}}}};
}

}  // namespace moxie::api
