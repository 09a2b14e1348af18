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
#include <utility>

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

constexpr int kLooksAtOnce = 8;
/// Fewer bytes are copied sooner than looked for.
constexpr std::size_t kLeastPlaced = 4 * 1024;
/// Frames up to this are put together before they are sent: the system takes one piece sooner than three.
constexpr std::size_t kShortFrame = 256;
/// Behind a payload: a frame's head, and a packet's header.
constexpr std::size_t kGlance = 64;
/// What a frame costs a socket beside its bytes, at most: a buffer's head for each 64 KiB, and where it goes over the end of one for one
/// more (Linux 6: 1.3 KiB each).
constexpr std::size_t kFrameOverhead = 4 * 1024;
/// What was sent and is not acknowledged for so long is taken for lost, and the other machine for gone; so is what has no room there.
constexpr unsigned kSilenceMs = 30'000;
/// The system gives at most net.core.wmem_max, and counts its own heads as well, so that it takes half of that for sure (socket(7)).
constexpr int kSendBuffer = 1024 * 1024;

constexpr std::size_t cost_of(std::size_t bytes) { return bytes + sizeof(FrameHead) + kFrameOverhead; }

bool would_wait(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

/// As send(2) answers.
[[gnu::hot]] ssize_t send_short(int socket, FrameHead head, ConstSpan first, ConstSpan second) {
  std::array<std::byte, kShortFrame> frame;
  std::memcpy(frame.data(), &head, sizeof head);
  const auto* end = std::ranges::copy(second, std::ranges::copy(first, frame.data() + sizeof head).out).out;
  return ::send(socket, frame.data(), static_cast<std::size_t>(end - frame.data()), MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t send_in_parts(int socket, FrameHead head, ConstSpan first, ConstSpan second) {
  const auto part = [](const void* bytes, std::size_t length) { return iovec{const_cast<void*>(bytes), length}; };  // which is only read
  std::array parts{part(&head, sizeof head), part(first.data(), first.size()), part(second.data(), second.size())};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = second.empty() ? 2 : 3;
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

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
  base::Descriptor socket(
      base::above_standard_streams(::socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
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
  const FrameHead head = head_of(kind, first, second);
  const std::size_t bytes = sizeof head + head.bytes;
  const ssize_t sent = (bytes <= kShortFrame ? send_short : send_in_parts)(socket_.get(), head, first, second);
  if (sent < 0 && !would_wait(errno)) return base::system_error(errno, "send");
  const auto left = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  if (left == bytes) return {};
  waiting.add(kind, first, second);
  waiting.took(left);
  return {};
}

bool Connection::takes_whole(std::size_t bytes) const { return buffer_ >= cost_of(bytes); }

bool Connection::has_room(std::size_t bytes) {
  const std::size_t needed = cost_of(bytes);
  if (room_ < needed) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t length = sizeof memory;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &length) != 0) return true;
    const std::uint32_t all = memory[SK_MEMINFO_SNDBUF], used = memory[SK_MEMINFO_WMEM_QUEUED];
    buffer_ = all;
    room_ = all > used ? all - used : 0;
    if (used == 0) room_ = std::max(room_, needed);  // there will never be more
  }
  if (room_ < needed) return false;
  room_ -= needed;
  return true;
}

void Connection::carry_messages() {
  set(socket_.get(), SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  buffer_ = room_ = 0;  // a new connection's may have been longer, where segments are long (tcp(7), tcp_wmem)
  set(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
}

void Connection::say_end() {
  (void)::shutdown(socket_.get(), SHUT_WR);
  enter(State::closing);
}

void Connection::acknowledge() const { set(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, 1); }

bool Connection::is_delivered() const {
  int waiting = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &waiting) != 0 || waiting == 0;
}

/// Hands on the whole frames in front; of the last, if it is not there as a whole, keeps what is. False to stop for good.
Result<bool> Connection::take_frames(ConstSpan bytes, Taker& taker, Sink& places) {
  for (;;) {
    SHIM_TRY_ASSIGN(const auto frame, first_frame(bytes, state_ == State::stranger ? kLongestHello : kLongestFrame));
    if (!frame) break;
    bytes = bytes.subspan(frame->length());
    if (!taker.take(*frame)) return false;
  }
  if (!begin_placing(bytes, places)) rest_.assign(bytes.begin(), bytes.end());
  return true;
}

/// Worth it where more is missing of the packet than one look at the socket costs.
bool Connection::begin_placing(ConstSpan bytes, Sink& places) {
  FrameHead head;
  if (state_ != State::open || bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  const ConstSpan packet = bytes.subspan(sizeof head);
  if (static_cast<ContactFrame>(head.kind) != ContactFrame::packet || head.bytes - packet.size() < kLeastPlaced) return false;
  const auto place = places.place(packet, head.bytes);
  if (!place) return false;
  const ConstSpan here = packet.subspan(place->header_bytes);
  std::ranges::copy(here, place->payload.begin());
  placed_ = here.size();
  to_place_ = place->payload.size();
  rest_.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(sizeof head + place->header_bytes));
  return true;
}

/// The rest of a payload, and in the same look the beginning of what follows, which says where that belongs.
Result<Connection::Came> Connection::receive_placed(std::span<std::byte> room, Taker& taker, Sink& places) {
  const ConstSpan header = ConstSpan(rest_).subspan(sizeof(FrameHead));
  const auto place = places.place(header, header.size() + to_place_);
  const std::size_t missing = to_place_ - placed_;
  const std::span<std::byte> into = place ? place->payload.subspan(placed_) : room.first(missing);
  std::array<std::byte, kGlance> next;
  std::array parts{iovec{into.data(), into.size()}, iovec{next.data(), next.size()}};
  const ssize_t got = ::readv(socket_.get(), parts.data(), parts.size());
  if (got < 0 && !would_wait(errno)) return base::system_error(errno, "readv");
  if (got <= 0) return got == 0 ? Came::end : Came::all_there_is;
  const auto have = static_cast<std::size_t>(got);
  placed_ += std::min(have, missing);
  if (placed_ != to_place_) return Came::all_there_is;
  if (!taker.take({.kind = ContactFrame::packet, .bytes = header, .placed = std::exchange(to_place_, 0)})) return Came::end;
  SHIM_TRY_ASSIGN(const bool goes_on, take_frames(ConstSpan(next).first(have - missing), taker, places));
  if (!goes_on) return Came::end;
  return have == missing + next.size() ? Came::some : Came::all_there_is;
}

Result<Connection::Came> Connection::receive_frames(std::span<std::byte> room, Taker& taker, Sink& places) {
  std::ranges::copy(rest_, room.begin());
  const ssize_t got = ::recv(socket_.get(), room.data() + rest_.size(), room.size() - rest_.size(), MSG_DONTWAIT);
  if (got < 0 && !would_wait(errno)) return base::system_error(errno, "recv");
  if (got <= 0) return got == 0 ? Came::end : Came::all_there_is;
  const std::span<std::byte> have = room.first(rest_.size() + static_cast<std::size_t>(got));
  SHIM_TRY_ASSIGN(const bool goes_on, take_frames(have, taker, places));
  if (!goes_on) return Came::end;
  return have.size() == room.size() || to_place_ != 0 ? Came::some : Came::all_there_is;
}

Result<bool> Connection::receive(std::span<std::byte> room, Taker& taker, Sink& places) {
  for (int looks = 0; looks < kLooksAtOnce; ++looks) {
    SHIM_TRY_ASSIGN(const Came came, to_place_ != 0 ? receive_placed(room, taker, places) : receive_frames(room, taker, places));
    if (came != Came::some) return came == Came::all_there_is;
  }
  return true;
}

}  // namespace shim::transport
