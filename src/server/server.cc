#include "server/server.h"

#include <sys/socket.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "server/loop.h"
#include "server/session.h"
#include "server/shared.h"

namespace moxie::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAcceptPause(100);  // after a failed accept: no file descriptors left
constexpr milliseconds kPoll(5);

// To a connection over the limit, before it has asked for anything.
std::string FullReply(int64_t connections) {
  const std::string body = DumpJson(api::ErrorBody(
      api::ErrorOf(ResourceExhausted("all ", connections, " connections are in use"))));
  return StrCat(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
      "Retry-After: 1\r\nConnection: close\r\nContent-Length: ",
      body.size(), "\r\n\r\n", body);
}

std::string Address(const ServerOptions& options) {
  const bool v6 = options.host.find(':') != std::string::npos;
  return StrCat(v6 ? "[" : "", options.host, v6 ? "]" : "", ":", options.port);
}

Status CannotListen(const ServerOptions& options, const error_code& error) {
  const bool used = error == asio::error::address_in_use;
  return Unavailable("cannot listen on ", Address(options), ": ", error.message(),
                     used ? "; choose another --port, or end the server that has it" : "");
}

Result<tcp::endpoint> Resolve(const ServerOptions& options, asio::io_context& io) {
  error_code error;
  if (options.host.empty()) return tcp::endpoint(tcp::v6(), options.port);  // both families
  const auto address = asio::ip::make_address(options.host, error);
  if (!error) return tcp::endpoint(address, options.port);
  tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error || found.empty()) return CannotListen(options, error);
  return found.begin()->endpoint();
}

Status Listen(const ServerOptions& options, const tcp::endpoint& endpoint, tcp::acceptor& out) {
  error_code error;
  out.open(endpoint.protocol(), error);
  if (!error) out.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && options.host.empty()) out.set_option(asio::ip::v6_only(false), error);
  if (!error) out.bind(endpoint, error);
  if (!error) out.listen(asio::socket_base::max_listen_connections, error);
  return error ? CannotListen(options, error) : OkStatus();
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(const ServerOptions& options)
      : shared_(options),
        full_(FullReply(options.limits.connections)),
        acceptor_(AddLoops(options.threads)),
        signals_(loops_[0]->io) {}
  ~Impl() {
    Stop(milliseconds(0));
    shared_.workers.join();
    for (auto& loop : loops_) {
      loop->io.stop();
      loop->thread.join();
    }
  }

  Status Open();
  void Serve(api::ServedModel model) { shared_.app.Serve(std::move(model)); }
  uint16_t port() const { return port_; }
  void CatchSignals();
  void WaitForSignal() { first_signal_.get_future().wait(); }
  void Stop(milliseconds limit);

 private:
  asio::io_context& AddLoops(int count) {
    for (int i = 0; i < count; ++i) loops_.push_back(std::make_unique<Loop>());
    return loops_[0]->io;
  }
  asio::awaitable<void> Accept();
  void OnSecondSignal();
  void ForEachLoop(void (*what)(Loop&));
  // True when the last connection has closed within the time.
  bool WaitForConnections(milliseconds limit) const;
  milliseconds Allowed(milliseconds limit) const { return hurry_ ? milliseconds(0) : limit; }

  Shared shared_;
  const std::string full_;
  std::vector<std::unique_ptr<Loop>> loops_;  // not empty
  tcp::acceptor acceptor_;                    // on loop 0
  asio::signal_set signals_;                  // on loop 0
  std::promise<void> first_signal_;
  uint16_t port_ = 0;
  std::atomic<bool> hurry_{false};
  std::jthread hurrying_;
  std::mutex stop_mutex_;
  bool stopped_ = false;  // guarded by stop_mutex_
};

Status Server::Impl::Open() {
  MOXIE_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, Resolve(shared_.options, loops_[0]->io));
  MOXIE_RETURN_IF_ERROR(Listen(shared_.options, endpoint, acceptor_));
  port_ = acceptor_.local_endpoint().port();
  asio::co_spawn(loops_[0]->io, Accept(), asio::detached);
  return {};
}

asio::awaitable<void> Server::Impl::Accept() {
  asio::steady_timer pause(loops_[0]->io);
  for (size_t next = 0;; next = (next + 1) % loops_.size()) {
    error_code error;
    Loop& loop = *loops_[next];
    tcp::socket socket =
        co_await acceptor_.async_accept(loop.io, asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor_.is_open()) co_return;
    if (error) {
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    } else if (++shared_.connections > shared_.options.limits.connections) {
      --shared_.connections;
      ::send(socket.native_handle(), full_.data(), full_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      StartSession(loop, shared_, std::move(socket));
    }
  }
}

void Server::Impl::CatchSignals() {
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  signals_.async_wait([this](const error_code& error, int) {
    if (error) return;
    first_signal_.set_value();
    signals_.async_wait([this](const error_code& again, int) {
      if (!again) OnSecondSignal();
    });
  });
}

// The engine waits for its step to end: not on the loop's thread.
void Server::Impl::OnSecondSignal() {
  hurry_ = true;
  const api::ServedModel* model = shared_.app.model();
  if (model == nullptr) return;
  hurrying_ = std::jthread([engine = model->engine] { engine->Stop(milliseconds(0)); });
}

void Server::Impl::ForEachLoop(void (*what)(Loop&)) {
  for (auto& loop : loops_) asio::post(loop->io, [&loop = *loop, what] { what(loop); });
}

bool Server::Impl::WaitForConnections(milliseconds limit) const {
  const auto end = steady_clock::now() + limit;
  while (shared_.connections > 0 && steady_clock::now() < end) std::this_thread::sleep_for(kPoll);
  return shared_.connections == 0;
}

void Server::Impl::Stop(milliseconds limit) {
  const std::lock_guard lock(stop_mutex_);
  if (std::exchange(stopped_, true)) return;
  std::promise<void> closed;
  asio::post(loops_[0]->io, [&] {
    error_code error;
    acceptor_.close(error);
    closed.set_value();
  });
  closed.get_future().wait();
  shared_.app.Drain();
  ForEachLoop(DrainSessions);
  if (const api::ServedModel* model = shared_.app.model()) model->engine->Stop(Allowed(limit));
  if (!WaitForConnections(Allowed(shared_.options.limits.flush))) {
    ForEachLoop(CloseSessions);
    WaitForConnections(shared_.options.limits.flush);
  }
}

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  if (options.threads < 1) return InvalidArgument("threads: must be at least 1");
  auto impl = std::make_unique<Impl>(options);
  MOXIE_RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
void Server::Serve(api::ServedModel model) { impl_->Serve(std::move(model)); }
uint16_t Server::port() const { return impl_->port(); }
void Server::CatchSignals() { impl_->CatchSignals(); }
void Server::WaitForSignal() { impl_->WaitForSignal(); }
void Server::Stop(milliseconds limit) { impl_->Stop(limit); }

}  // namespace moxie::server
