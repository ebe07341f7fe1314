// A client that speaks HTTP/1.1 byte by byte, so that tests can say anything and see everything.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace moxie::server {

struct ClientReply {
  int status = 0;    // 0: the connection ended before a status line
  std::string head;  // status line and fields
  std::string body;  // without chunk framing

  std::string Header(std::string name) const {
    const auto lower = [](std::string s) {
      std::ranges::transform(s, s.begin(), [](unsigned char c) { return std::tolower(c); });
      return s;
    };
    const size_t at = lower(head).find("\r\n" + lower(name) + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  Json json() const {
    auto json = ParseJson(body);
    EXPECT_TRUE(json.ok()) << json.status().message() << " in: " << body;
    return json.ok() ? *json : Json();
  }
};

class Client {
 public:
  explicit Client(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { Close(); }
  Client(const Client&) = delete;

  bool connected() const { return connected_; }

  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // Ends the connection with RST.
  void Reset() {
    const linger now = {1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    Close();
  }

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server may refuse and close before it has all
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  // False at the end of the connection, or after `timeout` without a byte.
  bool ReadMore(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    pollfd poll_fd = {fd_, POLLIN, 0};
    if (::poll(&poll_fd, 1, static_cast<int>(timeout.count())) <= 0) return false;
    char buffer[4096];
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    pending_.append(buffer, static_cast<size_t>(got));
    return true;
  }
  // True when the server closes within the time; what it sends before is dropped.
  bool WaitForClose(std::chrono::milliseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < end) {
      pollfd poll_fd = {fd_, POLLIN, 0};
      if (::poll(&poll_fd, 1, 50) <= 0) continue;
      char buffer[4096];
      if (::recv(fd_, buffer, sizeof buffer, 0) <= 0) return true;
    }
    return false;
  }

  // Everything up to and with `end`; what there is when the connection ends.
  std::string ReadUntil(std::string_view end) {
    size_t at = pending_.find(end);
    while (at == std::string::npos && ReadMore()) at = pending_.find(end);
    return Take(at == std::string::npos ? pending_.size() : at + end.size());
  }

  ClientReply ReadHead() {
    ClientReply reply;
    reply.head = ReadUntil("\r\n\r\n");
    if (reply.head.starts_with("HTTP/1.") && reply.head.size() > 12) {
      reply.status = std::atoi(reply.head.c_str() + 9);
    }
    return reply;
  }
  // A whole reply, by its Content-Length, chunks, or the end of the connection.
  ClientReply ReadReply(bool head_only = false) {
    ClientReply reply = ReadHead();
    while (reply.status == 100) reply = ReadHead();
    if (reply.status == 0 || head_only) return reply;
    if (reply.Header("Transfer-Encoding") == "chunked") {
      while (ReadChunk(reply.body)) {
      }
    } else if (const std::string length = reply.Header("Content-Length"); !length.empty()) {
      const size_t size = std::stoul(length);
      while (pending_.size() < size && ReadMore()) {
      }
      reply.body = Take(std::min(size, pending_.size()));
    } else {
      while (ReadMore()) {
      }
      reply.body = Take(pending_.size());
    }
    return reply;
  }
  // False after the last chunk.
  bool ReadChunk(std::string& body) {
    const std::string line = ReadUntil("\r\n");
    const size_t size = std::strtoul(line.c_str(), nullptr, 16);
    while (pending_.size() < size + 2 && ReadMore()) {
    }
    const std::string chunk = Take(std::min(size + 2, pending_.size()));
    if (size == 0 || chunk.size() < size + 2) return false;
    body.append(chunk, 0, size);
    return true;
  }

  ClientReply Do(std::string_view method, std::string_view path, std::string_view body = "",
                 std::string_view fields = "") {
    Send(Format(method, path, body, fields));
    return ReadReply(method == "HEAD");
  }

  static std::string Format(std::string_view method, std::string_view path, std::string_view body,
                            std::string_view fields = "") {
    std::string text = StrCat(method, " ", path, " HTTP/1.1\r\nHost: test\r\n", fields);
    if (method == "POST") {
      text += StrCat("Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n");
    }
    return StrCat(text, "\r\n", body);
  }

 private:
  std::string Take(size_t count) {
    std::string taken = pending_.substr(0, count);
    pending_.erase(0, count);
    return taken;
  }

  int fd_;
  bool connected_ = false;
  std::string pending_;
};

// One request on a connection of its own.
inline ClientReply Request(uint16_t port, std::string_view method, std::string_view path,
                           std::string_view body = "", std::string_view fields = "") {
  Client client(port);
  EXPECT_TRUE(client.connected());
  return client.Do(method, path, body, fields);
}
inline ClientReply Complete(uint16_t port, std::string_view body) {
  return Request(port, "POST", "/v1/completions", body);
}

// The JSON of each event, the closing [DONE] checked and left out.
inline std::vector<Json> Events(std::string_view body) {
  std::vector<Json> events;
  bool done = false;
  while (!body.empty()) {
    const size_t end = body.find("\n\n");
    EXPECT_NE(end, std::string_view::npos) << body;
    if (end == std::string_view::npos) break;
    const std::string_view event = body.substr(0, end);
    body.remove_prefix(end + 2);
    EXPECT_FALSE(done) << "after [DONE]: " << event;
    EXPECT_TRUE(event.starts_with("data: ")) << event;
    EXPECT_EQ(event.find('\n'), std::string_view::npos) << event;
    done = event == "data: [DONE]";
    if (done) continue;
    auto json = ParseJson(event.substr(6));
    EXPECT_TRUE(json.ok()) << event;
    if (json.ok()) events.push_back(*json);
  }
  EXPECT_TRUE(done);
  return events;
}

}  // namespace moxie::server
