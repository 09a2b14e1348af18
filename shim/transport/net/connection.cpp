// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/connection.hpp"

#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

constexpr int kReadsAtOnce = 4;
/// What a frame costs a socket beside its bytes, at most: a buffer's head for each, and where it goes over the end of one for two (Linux 6:
/// 1.3 KiB each).
constexpr std::size_t kFrameOverhead = 3 * 1024;
/// What was sent and is not acknowledged for so long is taken for lost, and the other machine for gone; so is what has no room there.
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

Status Connection::send(FrameQueue& waiting) {
  while (!waiting.is_empty()) {
    const ConstSpan rest = waiting.rest();
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) waiting.took(static_cast<std::size_t>(sent));
    else if (would_wait(errno)) return {};
    else return base::system_error(errno, "send");
  }
  return {};
}

Status Connection::send(FrameQueue& waiting, ContactFrame kind, ConstSpan first, ConstSpan second) {
  if (!waiting.is_empty()) {
    waiting.add(kind, first, second);
    return send(waiting);
  }
  FrameHead head = head_of(kind, first, second);
  const auto part = [](const void* bytes, std::size_t length) { return iovec{const_cast<void*>(bytes), length}; };  // which is only read
  std::array parts{part(&head, sizeof head), part(first.data(), first.size()), part(second.data(), second.size())};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = second.empty() ? 2 : 3;
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && !would_wait(errno)) return base::system_error(errno, "sendmsg");
  const auto left = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  if (left == sizeof head + head.bytes) return {};
  waiting.add(kind, first, second);
  waiting.took(left);
  return {};
}

bool Connection::has_room(std::size_t bytes) {
  const std::size_t needed = bytes + sizeof(FrameHead) + kFrameOverhead;
  if (room_ < needed) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t length = sizeof memory;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &length) != 0) return true;
    const std::uint32_t all = memory[SK_MEMINFO_SNDBUF], used = memory[SK_MEMINFO_WMEM_QUEUED];
    room_ = all > used ? all - used : 0;
    if (used == 0) room_ = std::max(room_, needed);  // there will never be more
  }
  if (room_ < needed) return false;
  room_ -= needed;
  return true;
}

void Connection::be_patient() { set(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 0); }

void Connection::say_end() {
  (void)::shutdown(socket_.get(), SHUT_WR);
  enter(State::closing);
}

void Connection::acknowledge() const { set(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, 1); }

bool Connection::is_delivered() const {
  int waiting = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &waiting) != 0 || waiting == 0;
}

Result<std::optional<std::size_t>> Connection::take_frames(ConstSpan bytes, const Take& take) const {
  std::size_t taken = 0;
  for (;;) {
    SHIM_TRY_ASSIGN(const auto frame, first_frame(bytes.subspan(taken), state_ == State::stranger ? kLongestHello : kLongestFrame));
    if (!frame) return std::optional(taken);
    taken += frame->length();
    if (!take(*frame)) return std::optional<std::size_t>();
  }
}

Result<bool> Connection::receive(std::span<std::byte> room, const Take& take) {
  std::size_t have = rest_.size();
  std::ranges::copy(rest_, room.begin());
  bool has_ended = false, goes_on = true;
  for (int reads = 0; goes_on && reads < kReadsAtOnce; ++reads) {
    const ssize_t got = ::recv(socket_.get(), room.data() + have, room.size() - have, MSG_DONTWAIT);
    if (got < 0 && !would_wait(errno)) return base::system_error(errno, "recv");
    has_ended = got == 0;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
    goes_on = have == room.size();  // else that was all
    SHIM_TRY_ASSIGN(const auto taken, take_frames(room.first(have), take));
    if (!taken) return false;
    have -= *taken;
    std::memmove(room.data(), room.data() + *taken, have);
  }
  if (have != 0 || !rest_.empty()) rest_.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(have));
  return !has_ended;
}

}  // namespace shim::transport
