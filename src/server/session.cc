#include "server/session.h"

#include <poll.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "api/generation.h"
#include "base/version.h"
#include "server/waker.h"

namespace moxie::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeerCheck(250);
constexpr size_t kReadBytes = 8192;
constexpr size_t kLingerBytes = size_t{1} << 20;
constexpr std::chrono::milliseconds kLinger(1000);

// What the parser's errors mean to the client. Those of the connection have no row: there is nobody
// to answer.
struct ParseErrorRow {
  http::error error;
  int status;
};
constexpr ParseErrorRow kParseErrors[] = {
    {http::error::header_limit, 431},       {http::error::buffer_overflow, 431},
    {http::error::body_limit, 413},         {http::error::bad_alloc, 503},
    {http::error::bad_line_ending, 400},    {http::error::bad_method, 400},
    {http::error::bad_target, 400},         {http::error::bad_version, 400},
    {http::error::bad_field, 400},          {http::error::bad_value, 400},
    {http::error::bad_content_length, 400}, {http::error::bad_transfer_encoding, 400},
    {http::error::bad_chunk, 400},          {http::error::bad_chunk_extension, 400},
    {http::error::bad_obs_fold, 400},       {http::error::multiple_content_length, 400},
};

int StatusOf(const error_code& error) {
  for (const ParseErrorRow& row : kParseErrors) {
    if (error == row.error) return row.status;
  }
  return 0;
}

void AppendEvent(std::string& out, const JsonObject& json) {
  out += "data: ";
  out += DumpJson(json);
  out += "\n\n";
}

// Takes a generation off /load.
struct GenerationCount {
  App& app;
  ~GenerationCount() { app.EndGeneration(); }
};

std::string Field(const http::fields& fields, http::field name) {
  const auto value = fields[name];
  return {value.data(), value.size()};
}

HttpRequest HeaderOf(const http::request<http::string_body>& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.authorization = Field(message, http::field::authorization);
  request.content_type = Field(message, http::field::content_type);
  request.cors.origin = Field(message, http::field::origin);
  request.cors.method = Field(message, http::field::access_control_request_method);
  request.cors.headers = Field(message, http::field::access_control_request_headers);
  request.cors.has_cookie = message.count(http::field::cookie) > 0;
  return request;
}

}  // namespace

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Loop& loop, Shared& shared, asio::ip::tcp::socket socket)
      : loop_(loop), shared_(shared), stream_(std::move(socket)), news_timer_(loop.io) {
    loop_.sessions.insert(this);
    error_code ec;
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ec);
    const auto peer = stream_.socket().remote_endpoint(ec);
    if (!ec) peer_ = StrCat(peer.address().to_string(), ":", peer.port());
  }
  ~Session() {
    if (waker_ != nullptr) waker_->Detach();
    loop_.sessions.erase(this);
    --shared_.connections;
  }

  asio::awaitable<void> Run() {
    bool more = true;  // apart: g++ 12 drops the temporaries of a co_await in a loop's condition
    while (more) {
      const bool kept = co_await OneRequest();
      more = kept;
    }
    co_await Linger();
  }

  void Drain() {
    if (idle_) Close();
  }
  void Close() {
    error_code ec;
    stream_.socket().close(ec);
    news_timer_.cancel();
  }

 private:
  using Parser = http::request_parser<http::string_body>;

  const Limits& limits() const { return shared_.options.limits; }

  // False when the connection is to be closed.
  asio::awaitable<bool> OneRequest() {
    const bool began = co_await WaitForBytes();
    if (!began) co_return false;
    started_ = steady_clock::now();
    status_ = 0;
    parser_.emplace();
    parser_->header_limit(limits().header_bytes);
    parser_->body_limit(static_cast<uint64_t>(limits().body_bytes));
    BodyReservation reservation(shared_);
    const bool read = co_await ReadRequest(reservation);
    if (!read) co_return false;
    HttpRequest request = TakeRequest();
    const bool keep = co_await Handle(std::move(request));
    co_return keep && !shared_.app.draining();
  }

  // The only wait in which a kept connection is idle.
  asio::awaitable<bool> WaitForBytes() {
    if (buffer_.size() > 0) co_return true;
    if (shared_.app.draining() && served_ > 0) co_return false;
    idle_ = true;
    error_code ec;
    stream_.expires_after(limits().idle);
    const size_t count = co_await stream_.async_read_some(
        buffer_.prepare(kReadBytes), asio::redirect_error(asio::use_awaitable, ec));
    idle_ = false;
    buffer_.commit(ec ? 0 : count);
    co_return !ec;
  }

  // False when the connection is at an end: a reply, if any, has been sent.
  asio::awaitable<bool> ReadRequest(BodyReservation& reservation) {
    error_code ec;
    stream_.expires_after(limits().read);
    co_await http::async_read_header(stream_, buffer_, *parser_,
                                     asio::redirect_error(asio::use_awaitable, ec));
    if (ec) co_return co_await RefuseUnread(StatusOf(ec), ec.message());
    const auto& fields = parser_->get();
    if (std::distance(fields.begin(), fields.end()) > limits().header_fields) {
      co_return co_await RefuseUnread(
          431, StrCat("at most ", limits().header_fields, " header fields are taken"));
    }
    // Where a body in another coding ends is not known: what follows is not the next request.
    if (fields.count(http::field::transfer_encoding) > 0 &&
        !beast::iequals(fields[http::field::transfer_encoding], "chunked")) {
      co_return co_await RefuseUnread(501, "transfer-encoding: only chunked is supported");
    }
    const auto length = parser_->content_length();
    const int64_t bytes =
        parser_->chunked() ? limits().body_bytes : static_cast<int64_t>(length ? *length : 0);
    if (!reservation.Take(bytes)) {
      co_return co_await RefuseUnread(
          503, StrCat("request bodies in memory would pass ", limits().body_pool_bytes, " bytes"));
    }
    if (beast::iequals(fields[http::field::expect], "100-continue") && !parser_->is_done()) {
      const bool sent = co_await Write(asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25));
      if (!sent) co_return false;
    }
    stream_.expires_after(limits().read);
    co_await http::async_read(stream_, buffer_, *parser_,
                              asio::redirect_error(asio::use_awaitable, ec));
    if (ec) co_return co_await RefuseUnread(StatusOf(ec), ec.message());
    co_return true;
  }

  // Answers a request that was not read to its end, after which the connection cannot be used.
  asio::awaitable<bool> RefuseUnread(int status, std::string why) {
    if (status == 0) co_return false;
    version_ = 11;
    keep_alive_ = false;
    head_ = false;
    line_ = "(unreadable)";
    linger_ = true;
    fields_ = shared_.app.ReplyFields(HeaderOf(parser_->get()));
    if (status == 413) why = StrCat("a body may have at most ", limits().body_bytes, " bytes");
    if (status == 431 && why.empty()) why = "header fields are too large";
    co_await Send(ErrorReply(api::HttpError(status, std::move(why))));
    Log();
    co_return false;
  }

  HttpRequest TakeRequest() {
    auto message = parser_->release();
    version_ = static_cast<int>(message.version());
    keep_alive_ = message.keep_alive();
    head_ = message.method() == http::verb::head;
    HttpRequest request = HeaderOf(message);
    request.body = std::move(message.body());
    line_ = StrCat(request.method, " ", request.path());
    return request;
  }

  // True when the connection may carry another request.
  asio::awaitable<bool> Handle(HttpRequest request) {
    ++served_;
    bool sent = false;
    fields_ = shared_.app.ReplyFields(request);
    const std::optional<HttpReply> refusal = shared_.app.Check(request);
    if (refusal) {
      sent = co_await Send(*refusal);
    } else if (shared_.app.Generates(request)) {
      sent = co_await Generate(std::move(request));
    } else {
      HttpReply reply;
      if (request.method == "POST") {
        reply = co_await OnWorker([&] { return shared_.app.Answer(request); });
      } else {
        reply = shared_.app.Answer(request);
      }
      sent = co_await Send(reply);
    }
    Log();
    co_return sent&& keep_alive_;
  }

  // Runs `work` on a worker and goes on here with what it returned.
  template <typename Work>
  asio::awaitable<std::invoke_result_t<Work>> OnWorker(Work work) {
    std::optional<std::invoke_result_t<Work>> result;
    auto on_worker = [&]() -> asio::awaitable<void> {
      result.emplace(work());
      co_return;
    };
    co_await asio::co_spawn(shared_.workers, on_worker, asio::use_awaitable);
    co_return std::move(*result);
  }

  asio::awaitable<bool> Generate(HttpRequest request) {
    if (waker_ == nullptr) {
      waker_ = std::make_shared<Waker>(loop_.io, [this] {
        news_ = true;
        news_timer_.cancel();
      });
    }
    news_ = false;
    auto started = co_await OnWorker(
        [&] { return shared_.app.StartGeneration(request, [waker = waker_] { waker->Wake(); }); });
    if (!started.ok()) co_return co_await Send(ErrorReply(api::ErrorOf(started.status())));
    const GenerationCount count{shared_.app};
    api::Generation& generation = **started;
    request.body = std::string();  // the prompt is in the engine now
    const bool sent =
        generation.body().stream ? co_await SendStream(generation) : co_await SendWhole(generation);
    co_return sent;
  }

  // Waits until a stream may have something to read. False when nobody waits for it any more.
  asio::awaitable<bool> WaitForNews() {
    if (!news_) {
      error_code ec;
      news_timer_.expires_after(kPeerCheck);
      co_await news_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
    news_ = false;
    co_return !PeerGone();
  }

  bool PeerGone() {
    if (!stream_.socket().is_open()) return true;
    pollfd peer = {stream_.socket().native_handle(), POLLRDHUP, 0};
    return ::poll(&peer, 1, 0) > 0 && (peer.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  // OK, or why the answer ends before its time.
  Status Progress(const api::Generation& generation) const {
    if (!generation.error().ok()) return generation.error();
    if (steady_clock::now() - started_ < limits().request) return {};
    return Unavailable("the answer took longer than the limit of ", limits().request.count() / 1000,
                       " s");
  }

  asio::awaitable<bool> SendWhole(api::Generation& generation) {
    while (true) {
      generation.Read();
      const Status progress = Progress(generation);
      if (!progress.ok()) co_return co_await Send(ErrorReply(api::ErrorOf(progress)));
      if (generation.done()) break;
      const bool wanted = co_await WaitForNews();
      if (!wanted) co_return Abandon();
    }
    co_return co_await Send(JsonReply(generation.Reply()));
  }

  asio::awaitable<bool> SendStream(api::Generation& generation) {
    bool sent = co_await SendEventHead();
    std::string events;
    bool ended = false;
    while (sent && !ended) {
      ended = TakeEvents(generation, events);
      if (!events.empty()) sent = co_await WriteChunk(events);
      events.clear();
      if (!sent || ended) break;
      const bool wanted = co_await WaitForNews();
      if (!wanted) co_return Abandon();
    }
    if (!sent) co_return Abandon();
    if (version_ < 11) co_return true;
    co_return co_await Write(asio::buffer("0\r\n\r\n", 5));
  }

  // Appends what there is to send now. True after the last of it.
  bool TakeEvents(api::Generation& generation, std::string& events) {
    for (const JsonObject& chunk : generation.Read()) AppendEvent(events, chunk);
    const Status progress = Progress(generation);
    if (!progress.ok()) {
      AppendEvent(events, api::ErrorBody(api::ErrorOf(progress)));
    } else if (!generation.done()) {
      return false;
    } else if (generation.wants_usage()) {
      AppendEvent(events, generation.UsageChunk());
    }
    events += "data: [DONE]\n\n";
    return true;
  }

  // The client has gone: for the log, as nginx says it.
  bool Abandon() {
    status_ = 499;
    return false;
  }

  asio::awaitable<bool> SendEventHead() {
    http::response<http::empty_body> head(http::status::ok, 11);
    if (version_ < 11) keep_alive_ = false;  // the end of the connection is the end of the events
    FillHead(head, "text/event-stream; charset=utf-8");
    head.set(http::field::cache_control, "no-cache");
    head.set("X-Accel-Buffering", "no");
    if (version_ >= 11) head.chunked(true);
    status_ = 200;
    http::response_serializer<http::empty_body> serializer(head);
    error_code ec;
    stream_.expires_after(limits().write);
    co_await http::async_write_header(stream_, serializer,
                                      asio::redirect_error(asio::use_awaitable, ec));
    co_return !ec;
  }

  asio::awaitable<bool> WriteChunk(const std::string& data) {
    if (version_ < 11) co_return co_await Write(asio::buffer(data));
    error_code ec;
    stream_.expires_after(limits().write);
    co_await asio::async_write(stream_, http::make_chunk(asio::buffer(data)),
                               asio::redirect_error(asio::use_awaitable, ec));
    co_return !ec;
  }

  asio::awaitable<bool> Write(asio::const_buffer data) {
    error_code ec;
    stream_.expires_after(limits().write);
    co_await asio::async_write(stream_, data, asio::redirect_error(asio::use_awaitable, ec));
    co_return !ec;
  }

  template <typename Response>
  void FillHead(Response& response, std::string_view content_type) {
    if (shared_.app.draining()) keep_alive_ = false;
    response.version(version_ < 11 ? 10 : 11);
    response.keep_alive(keep_alive_);
    response.set(http::field::server, StrCat("moxie/", Version()));
    response.set(http::field::content_type,
                 beast::string_view(content_type.data(), content_type.size()));
    for (const auto& [name, value] : fields_) response.set(name, value);
  }

  asio::awaitable<bool> Send(const HttpReply& reply) {
    status_ = reply.status;
    http::response<http::string_body> response;
    response.result(static_cast<unsigned>(reply.status));
    response.reason(beast::string_view(api::HttpPhrase(reply.status)));
    FillHead(response, reply.content_type);
    for (const auto& [name, value] : reply.headers) response.set(name, value);
    response.content_length(reply.body.size());
    if (!head_) response.body() = reply.body;
    error_code ec;
    stream_.expires_after(limits().write);
    co_await http::async_write(stream_, response, asio::redirect_error(asio::use_awaitable, ec));
    co_return !ec;
  }

  // Closing while the client still sends would make the kernel throw our reply away: so read on for
  // a moment first.
  asio::awaitable<void> Linger() {
    error_code ec;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ec);
    if (!linger_ || ec) co_return;
    stream_.expires_after(kLinger);
    size_t total = 0;
    while (!ec && total < kLingerBytes) {
      buffer_.clear();
      total += co_await stream_.async_read_some(buffer_.prepare(kReadBytes),
                                                asio::redirect_error(asio::use_awaitable, ec));
    }
  }

  void Log() const {
    if (!shared_.options.access_log) return;
    const auto took = steady_clock::now() - started_;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    shared_.options.access_log(StrCat(peer_, " \"", line_, "\" ", status_, " ", ms, " ms"));
  }

  Loop& loop_;
  Shared& shared_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::string peer_;
  int64_t served_ = 0;
  bool idle_ = false;
  bool linger_ = false;

  // Of the current request.
  steady_clock::time_point started_;
  std::string line_;
  HeaderFields fields_;  // of every reply
  int version_ = 11;
  int status_ = 0;
  bool keep_alive_ = false;
  bool head_ = false;

  asio::steady_timer news_timer_;
  std::shared_ptr<Waker> waker_;
  bool news_ = false;
};

void StartSession(Loop& loop, Shared& shared, asio::ip::tcp::socket socket) {
  asio::post(loop.io, [&loop, &shared, socket = std::move(socket)]() mutable {
    auto session = std::make_shared<Session>(loop, shared, std::move(socket));
    auto run = [](std::shared_ptr<Session> self) -> asio::awaitable<void> { co_await self->Run(); };
    asio::co_spawn(loop.io, run(std::move(session)), asio::detached);
  });
}

void DrainSessions(Loop& loop) {
  for (Session* session : loop.sessions) session->Drain();
}

void CloseSessions(Loop& loop) {
  for (Session* session : loop.sessions) session->Close();
}

}  // namespace moxie::server
