// Session: one connection, from accept to close, as one coroutine on its loop's thread.
//
//   request line and fields -> body -> App::Check -> a reply, or a stream of events -> the next one
//
// Every wait has an end: Limits says which. While an answer is made, the client's end of the
// connection is looked at with every token and four times a second; when it is gone, so is the
// request.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "server/loop.h"
#include "server/shared.h"

namespace moxie::server {

// Starts a session on the loop's thread. REQUIRES: the socket belongs to loop.io; both outlive it.
// One is counted in shared.connections and taken off at the end.
void StartSession(Loop& loop, Shared& shared, boost::asio::ip::tcp::socket socket);

// On the loop's thread: sessions that wait for a request end now, the others after their reply.
void DrainSessions(Loop& loop);
// On the loop's thread: all end now.
void CloseSessions(Loop& loop);

}  // namespace moxie::server
