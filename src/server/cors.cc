#include "server/cors.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/status.h"

namespace moxie::server {
namespace {

const std::vector<std::string> kAllMethods = {"DELETE", "GET",  "HEAD", "OPTIONS",
                                              "PATCH",  "POST", "PUT"};
// What a browser sends without asking.
const std::set<std::string> kSafelisted = {"Accept", "Accept-Language", "Content-Language",
                                           "Content-Type"};
constexpr std::string_view kMaxAge = "600";  // seconds a browser keeps the answer

bool Contains(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::string Join(const auto& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// "Authorization, content-type" -> {"authorization", "content-type"}
std::vector<std::string> Names(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string name = Lower(std::string(list.substr(0, comma)));
    std::erase(name, ' ');
    names.push_back(std::move(name));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

}  // namespace

Cors::Cors(const CorsOptions& options)
    : origins_(options.origins),
      methods_(Contains(options.methods, "*") ? kAllMethods : options.methods),
      any_origin_(Contains(options.origins, "*")),
      any_header_(Contains(options.headers, "*")),
      credentials_(options.credentials) {
  std::set<std::string> names = kSafelisted;
  names.insert(options.headers.begin(), options.headers.end());
  for (const std::string& name : names) headers_.push_back(Lower(name));
  headers_field_ = Join(names);
}

bool Cors::Allows(const std::string& origin) const {
  return any_origin_ || Contains(origins_, origin);
}

HeaderFields Cors::ReplyFields(const CorsRequest& request) const {
  if (request.origin.empty()) return {};
  HeaderFields fields;
  if (credentials_) fields.emplace_back("Access-Control-Allow-Credentials", "true");
  // A page that sent cookies may not read a reply for everybody.
  if (any_origin_ && !request.has_cookie) {
    fields.emplace_back("Access-Control-Allow-Origin", "*");
    return fields;
  }
  fields.emplace_back("Vary", "Origin");
  if (Allows(request.origin)) fields.emplace_back("Access-Control-Allow-Origin", request.origin);
  return fields;
}

std::string Cors::Refusals(const CorsRequest& request) const {
  std::vector<std::string> refused;
  if (!Allows(request.origin)) refused.push_back("origin");
  if (!Contains(methods_, request.method)) refused.push_back("method");
  const auto known = [&](const std::string& name) { return Contains(headers_, name); };
  if (!any_header_ && !std::ranges::all_of(Names(request.headers), known)) {
    refused.push_back("headers");
  }
  return Join(refused);
}

std::optional<HttpReply> Cors::Preflight(const HttpRequest& request) const {
  const CorsRequest& cors = request.cors;
  if (request.method != "OPTIONS" || cors.origin.empty() || cors.method.empty()) return {};
  const std::string refused = Refusals(cors);
  HttpReply reply;
  reply.status = refused.empty() ? 200 : 400;
  reply.content_type = "text/plain; charset=utf-8";
  reply.body = refused.empty() ? "OK" : "Disallowed CORS " + refused;
  const bool everybody = any_origin_ && !credentials_;
  if (everybody) {
    reply.headers.emplace_back("Access-Control-Allow-Origin", "*");
  } else {
    reply.headers.emplace_back("Vary", "Origin");
    if (Allows(cors.origin)) reply.headers.emplace_back("Access-Control-Allow-Origin", cors.origin);
  }
  reply.headers.emplace_back("Access-Control-Allow-Methods", Join(methods_));
  reply.headers.emplace_back("Access-Control-Max-Age", kMaxAge);
  if (!any_header_) {
    reply.headers.emplace_back("Access-Control-Allow-Headers", headers_field_);
  } else if (!cors.headers.empty()) {
    reply.headers.emplace_back("Access-Control-Allow-Headers", cors.headers);
  }
  if (credentials_) reply.headers.emplace_back("Access-Control-Allow-Credentials", "true");
  return reply;
}

}  // namespace moxie::server
