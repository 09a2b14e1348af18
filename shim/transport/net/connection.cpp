// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/connection.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr int kReadsAtOnce = 4;
/// What was sent and is not acknowledged for so long is taken for lost, and the other machine for gone.
constexpr unsigned kSilenceMs = 30'000;

bool would_wait(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

void set(int socket, int level, int option, int value) { (void)::setsockopt(socket, level, option, &value, sizeof value); }

}  // namespace

Connection::Connection(base::Descriptor socket, State state) : socket_(std::move(socket)), state_(state), since_(base::now_ns()) {
  set(socket_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kSilenceMs));
}

void Connection::enter(State state) {
  state_ = state;
  since_ = base::now_ns();
}

Result<Connection> Connection::call(const IpAddress& address, std::uint16_t port) {
  sockaddr_storage to;
  const socklen_t length = address.to_socket_address(port, to);
  base::Descriptor socket(::socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return base::system_error(errno, "socket");
  Connection connection(std::move(socket), State::calling);
  if (::connect(connection.descriptor(), reinterpret_cast<const sockaddr*>(&to), length) != 0 && errno != EINPROGRESS)
    return base::system_error(errno, "connect");
  return connection;
}

std::optional<Error> Connection::call_failure() const {
  int code = 0;
  socklen_t length = sizeof code;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &length) != 0) code = errno;
  if (code == 0) return std::nullopt;
  return base::system_error(code, "connect");
}

Status Connection::send(FrameQueue& frames) {
  while (!frames.is_empty()) {
    const ConstSpan rest = frames.rest();
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) frames.took(static_cast<std::size_t>(sent));
    else if (would_wait(errno)) return {};
    else return base::system_error(errno, "send");
  }
  return {};
}

void Connection::say_end() {
  (void)::shutdown(socket_.get(), SHUT_WR);
  enter(State::closing);
}

bool Connection::is_delivered() const {
  int waiting = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &waiting) != 0 || waiting == 0;
}

Result<bool> Connection::take_frames(const std::function<bool(const ReceivedFrame&)>& take) {
  for (;;) {
    SHIM_TRY_ASSIGN(const auto frame, reader_.next(state_ == State::stranger ? kLongestHello : kLongestFrame));
    if (!frame) return true;
    if (!take(*frame)) return false;
  }
}

Result<bool> Connection::receive(const std::function<bool(const ReceivedFrame&)>& take) {
  std::byte buffer[kReadBytes];
  for (int reads = 0; reads < kReadsAtOnce; ++reads) {
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0 && would_wait(errno)) return true;
    if (got < 0) return base::system_error(errno, "recv");
    reader_.add(ConstSpan(buffer, static_cast<std::size_t>(got)));
    SHIM_TRY_ASSIGN(const bool goes_on, take_frames(take));
    if (!goes_on) return false;
  }
  return true;
}

}  // namespace shim::transport
