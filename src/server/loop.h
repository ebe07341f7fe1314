// Loop: one thread of sockets, and the connections that live on it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>
#include <unordered_set>

namespace moxie::server {

class Session;

struct Loop {
  Loop() : thread([this] { io.run(); }) {}

  std::unordered_set<Session*> sessions;  // the thread's own; those in `io` leave it when they end
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  std::thread thread;  // last: it runs as soon as it is made
};

}  // namespace moxie::server
