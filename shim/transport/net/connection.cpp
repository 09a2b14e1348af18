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

constexpr int kMaxReadsPerReceive = 8;
/// Fewer bytes are copied faster than placed.
constexpr std::size_t kMinPlacedBytes = 4 * 1024;
/// Frames up to this are copied together before the send: one piece is faster than three.
constexpr std::size_t kMaxCopiedFrame = 256;
/// Bytes read together with the end of a payload: the next frame's head and its packet's header.
constexpr std::size_t kReadAheadBytes = 64;
/// Most socket memory of a frame in addition to its bytes: the kernel's header of each 64 KiB
/// buffer (Linux 6: 1.3 KiB), and one more if the frame crosses a buffer's end.
constexpr std::size_t kFrameOverhead = 4 * 1024;
/// TCP_USER_TIMEOUT (tcp(7)): if data stays unacknowledged, or the peer's receive buffer full, for
/// this long, the system ends the connection.
constexpr unsigned kAckTimeoutMs = 30'000;
/// The system limits this to net.core.wmem_max and also counts its own buffer headers, so at least
/// half of it is usable (socket(7)).
constexpr int kSendBufferBytes = 1024 * 1024;

constexpr std::size_t cost_of(std::size_t bytes) {
  return bytes + sizeof(FrameHead) + kFrameOverhead;
}

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

/// Send head and parts as one piece; result as send(2).
[[gnu::hot]] ssize_t send_copied(int socket, FrameHead head, ConstSpan first, ConstSpan second) {
  std::array<std::byte, kMaxCopiedFrame> frame;
  std::memcpy(frame.data(), &head, sizeof head);
  const auto* end =
      std::ranges::copy(second, std::ranges::copy(first, frame.data() + sizeof head).out).out;
  return ::send(socket, frame.data(), static_cast<std::size_t>(end - frame.data()),
                MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t send_gathered(int socket, FrameHead head, ConstSpan first, ConstSpan second) {
  const auto part = [](const void* bytes, std::size_t length) {
    return iovec{const_cast<void*>(bytes), length};
  };  // only read
  std::array parts{part(&head, sizeof head), part(first.data(), first.size()),
                   part(second.data(), second.size())};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = second.empty() ? 2 : 3;
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void set(int socket, int level, int option, int value) {
  (void)::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

Connection::Connection(base::Descriptor socket, State state)
    : socket_(std::move(socket)), state_(state), state_since_(base::now_ns()) {
  set(socket_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket_.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kAckTimeoutMs));
}

void Connection::set_state(State state) {
  state_ = state;
  state_since_ = base::now_ns();
}

Result<Connection> Connection::connect(const IpAddress& address, std::uint16_t port) {
  sockaddr_storage to;
  const socklen_t length = address.to_socket_address(port, to);
  base::Descriptor socket(base::above_standard_streams(
      ::socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  if (!socket.is_open()) return base::system_error(errno, "socket");
  Connection connection(std::move(socket), State::connecting);
  if (::connect(connection.descriptor(), reinterpret_cast<const sockaddr*>(&to), length) != 0 &&
      errno != EINPROGRESS)
    return base::system_error(errno, "connect");
  return connection;
}

std::optional<Error> Connection::connect_error() const {
  int code = 0;
  socklen_t length = sizeof code;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &length) != 0) code = errno;
  if (code == 0) return std::nullopt;
  return base::system_error(code, "connect");
}

Status Connection::send(FrameQueue& waiting) {
  while (!waiting.is_empty()) {
    const ConstSpan rest = waiting.rest();
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      waiting.consume(static_cast<std::size_t>(sent));
    else if (would_block(errno))
      return {};
    else
      return base::system_error(errno, "send");
  }
  return {};
}

Status Connection::send(FrameQueue& waiting, TcpFrameKind kind, ConstSpan first, ConstSpan second) {
  if (!waiting.is_empty()) {
    waiting.add(kind, first, second);
    return send(waiting);
  }
  const FrameHead head = head_of(kind, first, second);
  const std::size_t bytes = sizeof head + head.bytes;
  const ssize_t sent = (bytes <= kMaxCopiedFrame ? send_copied : send_gathered)(socket_.get(), head,
                                                                                first, second);
  if (sent < 0 && !would_block(errno)) return base::system_error(errno, "send");
  const auto left = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  if (left == bytes) return {};
  waiting.add(kind, first, second);
  waiting.consume(left);
  return {};
}

bool Connection::fits_in_buffer(std::size_t bytes) const { return buffer_ >= cost_of(bytes); }

bool Connection::has_space(std::size_t bytes) {
  const std::size_t needed = cost_of(bytes);
  if (buffer_space_ < needed) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t length = sizeof memory;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &length) != 0)
      return true;
    const std::uint32_t all = memory[SK_MEMINFO_SNDBUF], used = memory[SK_MEMINFO_WMEM_QUEUED];
    buffer_ = all;
    buffer_space_ = all > used ? all - used : 0;
    // an empty buffer never gets more space
    if (used == 0) buffer_space_ = std::max(buffer_space_, needed);
  }
  if (buffer_space_ < needed) return false;
  buffer_space_ -= needed;
  return true;
}

void Connection::prepare_for_messages() {
  set(socket_.get(), SOL_SOCKET, SO_SNDBUF, kSendBufferBytes);
  // unknown: the buffer of a new connection may have been longer than the maximum, if its segments
  // are long (tcp(7))
  buffer_ = buffer_space_ = 0;
  set(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
}

void Connection::shutdown_send() {
  (void)::shutdown(socket_.get(), SHUT_WR);
  set_state(State::closing);
}

void Connection::acknowledge() const { set(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, 1); }

bool Connection::is_delivered() const {
  int waiting = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &waiting) != 0 || waiting == 0;
}

/// Pass on the complete frames; keep the rest. Return false to stop for good.
Result<bool> Connection::handle_frames(ConstSpan bytes, FrameHandler& handler, Sink& sink) {
  for (;;) {
    SHIM_TRY_ASSIGN(
        const auto frame,
        first_frame(bytes, state_ == State::unauthenticated ? kMaxHelloBytes : kMaxFrameBytes));
    if (!frame) break;
    bytes = bytes.subspan(frame->length());
    if (!handler.on_frame(*frame)) return false;
  }
  if (!begin_placing(bytes, sink)) partial_.assign(bytes.begin(), bytes.end());
  return true;
}

/// Begin to place a payload if at least kMinPlacedBytes of it are missing; false: not begun.
bool Connection::begin_placing(ConstSpan bytes, Sink& sink) {
  FrameHead head;
  if (state_ != State::open || bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  const ConstSpan packet = bytes.subspan(sizeof head);
  if (static_cast<TcpFrameKind>(head.kind) != TcpFrameKind::packet ||
      head.bytes - packet.size() < kMinPlacedBytes)
    return false;
  const auto placement = sink.place(packet, head.bytes);
  if (!placement) return false;
  const ConstSpan here = packet.subspan(placement->header_bytes);
  std::ranges::copy(here, placement->payload.begin());
  placed_bytes_ = here.size();
  payload_bytes_ = placement->payload.size();
  partial_.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(
                                                     sizeof head + placement->header_bytes));
  return true;
}

/// Read the rest of a payload and, in the same system call, the beginning of the next frame, which
/// determines where the next payload is placed.
Result<Connection::ReadResult> Connection::receive_placed(std::span<std::byte> scratch,
                                                          FrameHandler& handler, Sink& sink) {
  const ConstSpan header = ConstSpan(partial_).subspan(sizeof(FrameHead));
  const auto placement = sink.place(header, header.size() + payload_bytes_);
  const std::size_t missing = payload_bytes_ - placed_bytes_;
  const std::span<std::byte> into = placement ? placement->payload.subspan(placed_bytes_)
                                              : scratch.first(missing);
  std::array<std::byte, kReadAheadBytes> next;
  std::array parts{iovec{into.data(), into.size()}, iovec{next.data(), next.size()}};
  const ssize_t got = ::readv(socket_.get(), parts.data(), parts.size());
  if (got < 0 && !would_block(errno)) return base::system_error(errno, "readv");
  if (got <= 0) return got == 0 ? ReadResult::end : ReadResult::drained;
  const auto have = static_cast<std::size_t>(got);
  placed_bytes_ += std::min(have, missing);
  if (placed_bytes_ != payload_bytes_) return ReadResult::drained;
  if (!handler.on_frame({.kind = TcpFrameKind::packet,
                         .bytes = header,
                         .placed = std::exchange(payload_bytes_, 0)}))
    return ReadResult::end;
  SHIM_TRY_ASSIGN(const bool is_open,
                  handle_frames(ConstSpan(next).first(have - missing), handler, sink));
  if (!is_open) return ReadResult::end;
  return have == missing + next.size() ? ReadResult::more : ReadResult::drained;
}

Result<Connection::ReadResult> Connection::receive_frames(std::span<std::byte> scratch,
                                                          FrameHandler& handler, Sink& sink) {
  std::ranges::copy(partial_, scratch.begin());
  const ssize_t got = ::recv(socket_.get(), scratch.data() + partial_.size(),
                             scratch.size() - partial_.size(), MSG_DONTWAIT);
  if (got < 0 && !would_block(errno)) return base::system_error(errno, "recv");
  if (got <= 0) return got == 0 ? ReadResult::end : ReadResult::drained;
  const std::span<std::byte> have = scratch.first(partial_.size() + static_cast<std::size_t>(got));
  SHIM_TRY_ASSIGN(const bool is_open, handle_frames(have, handler, sink));
  if (!is_open) return ReadResult::end;
  return have.size() == scratch.size() || payload_bytes_ != 0 ? ReadResult::more
                                                              : ReadResult::drained;
}

Result<bool> Connection::receive(std::span<std::byte> scratch, FrameHandler& handler, Sink& sink) {
  for (int looks = 0; looks < kMaxReadsPerReceive; ++looks) {
    SHIM_TRY_ASSIGN(const ReadResult result, payload_bytes_ != 0
                                                 ? receive_placed(scratch, handler, sink)
                                                 : receive_frames(scratch, handler, sink));
    if (result != ReadResult::more) return result == ReadResult::drained;
  }
  return true;
}

}  // namespace shim::transport
