// SPDX-License-Identifier: BSD-3-Clause
// Implements the use of connections: sending, receiving and closing.
#include "shim/transport/net/connection_manager.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "shim/base/older_compilers.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;

constexpr int kMaxEvents = 16;
/// More is queued for a peer only if it does not read, or has not accepted the connection yet.
constexpr std::size_t kMaxQueuedBytes = 2 * kMaxFrameBytes;
/// Time after which the next address is tried.
constexpr base::Nanoseconds kConnectTimeout = 2'000'000'000;
/// An unauthenticated connection is closed after this time; a peer of the job may compute between
/// connect and hello.
constexpr base::Nanoseconds kAuthTimeout = 10'000'000'000;
/// Timeout if the limit of unauthenticated connections is reached, so that no further ones are
/// accepted. A peer of the job reconnects.
constexpr base::Nanoseconds kAuthTimeoutWhenFull = 100'000'000;

}  // namespace

Presence PeerConnection::presence() const {
  if (open_connections_ > 0) return Presence::present;
  if (peer_closed_) return Presence::gone;
  if (!failure_ || connect_round_.other) return Presence::unknown;
  return connect_round_.refused           ? Presence::gone
         : connect_round_.refused_locally ? Presence::gone_if_local
                                          : Presence::unknown;
}

Result<PeerConnection*> ConnectionManager::open(ConstSpan bytes) {
  auto address = TcpAddress::from_bytes(bytes);
  if (!address) return Error(ErrorClass::arg, "invalid TCP address of a process");
  auto& peer = peers_[address->cookie];
  if (!peer) peer = std::make_unique<PeerConnection>(*std::move(address));
  return peer.get();
}

Result<bool> ConnectionManager::send(PeerConnection& to, TcpFrameKind kind, ConstSpan first,
                                     ConstSpan second) {
  if (to.failure_) return to.failure_->clone();
  if (to.send_queue_.waiting() + to.pending_.bytes > kMaxQueuedBytes) return false;
  to.carries_packets_ = to.carries_packets_ || kind == TcpFrameKind::packet;
  count_sent(first.size() + second.size());
  if (to.active_conn_ != nullptr && to.active_conn_->state() == Connection::State::open)
      [[likely]] {
    SHIM_TRY(send_sealed(to, kind, first, second));
    return true;
  }
  Bytes bytes(first.begin(), first.end());
  bytes.insert(bytes.end(), second.begin(), second.end());
  to.pending_.bytes += bytes.size();
  to.pending_.frames.push_back({kind, std::move(bytes)});
  if (to.active_conn_ == nullptr) connect(to);
  return true;
}

void ConnectionManager::count_sent(std::size_t bytes) {
  ++counts_.frames_sent;
  counts_.bytes_sent += sizeof(FrameHead) + bytes;
}

/// Seal and send over the open active connection.
base::Status ConnectionManager::send_sealed(PeerConnection& to, TcpFrameKind kind, ConstSpan first,
                                            ConstSpan second) {
  const SealedHead head{static_cast<std::uint32_t>(kind)};
  Bytes plain;
  plain.reserve(sizeof head + first.size() + second.size());
  for (const ConstSpan part : {wire_bytes(head), first, second})
    plain.insert(plain.end(), part.begin(), part.end());
  auto sealed = connections_.at(to.active_conn_->descriptor()).seal->close(plain);
  if (!sealed) {
    fail_peer(to, sealed.error().clone());
    return std::move(sealed).error();
  }
  on_sent(to, to.active_conn_->send(to.send_queue_, TcpFrameKind::sealed, *sealed, {}));
  return {};
}

/// Mark the peer as failed for good.
void ConnectionManager::fail_peer(PeerConnection& peer, Error why) {
  peer.failure_ = std::move(why);
  peer.send_queue_.clear();
  peer.pending_ = {};
}

Result<bool> ConnectionManager::send_now(PeerConnection& to, ConstSpan first, ConstSpan second) {
  if (to.failure_) return to.failure_->clone();
  to.carries_packets_ = true;
  if (to.active_conn_ == nullptr) connect(to);
  const bool is_open = to.active_conn_ != nullptr &&
                       to.active_conn_->state() == Connection::State::open;
  if (!is_open || !to.send_queue_.is_empty()) return false;
  if (to.message_conn_ != to.active_conn_) [[unlikely]] {
    to.active_conn_->prepare_for_messages();  // before has_space is called
    to.message_conn_ = to.active_conn_;
  }
  if (!to.active_conn_->has_space(first.size() + second.size())) return false;
  count_sent(first.size() + second.size());
  on_sent(to, to.active_conn_->send(to.send_queue_, TcpFrameKind::packet, first, second));
  return true;
}

void ConnectionManager::watch(const Connection& connection, bool is_new, bool for_output) {
  epoll_event wanted{.events = for_output ? EPOLLIN | EPOLLOUT : std::uint32_t{EPOLLIN},
                     .data = {.fd = connection.descriptor()}};
  (void)::epoll_ctl(events_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection.descriptor(),
                    &wanted);
}

/// Send the pending frames.
void ConnectionManager::send_pending(PeerConnection& peer) {
  if (peer.active_conn_->state() != Connection::State::open) return;
  const PeerConnection::PendingFrames pending = std::exchange(peer.pending_, {});
  for (const PeerConnection::PendingFrame& waiting : pending.frames)
    if (!peer.failure_)
      (void)send_sealed(peer, waiting.kind, waiting.bytes, {});  // failure_ has the error
  on_sent(peer, peer.active_conn_->send(peer.send_queue_));
}

/// Record a failed send; the next poll closes the connection, because the caller may be using it.
void ConnectionManager::on_sent(PeerConnection& peer, const base::Status& sent) {
  if (!sent)
    failed_sends_.push_back(&peer);
  else if (!peer.send_queue_.is_empty())
    watch(*peer.active_conn_, false, true);
}

void ConnectionManager::send_shutdown_notices() {
  for (const base::Descriptor& listener : listeners_) accept_all(listener.get());
  for (auto& [descriptor, conn] : connections_) {
    if (conn.connection.state() == Connection::State::connecting) continue;
    FrameQueue none;
    const bool is_active = conn.peer != nullptr && conn.peer->active_conn_ == &conn.connection;
    // after any partly sent frame; errors no longer matter
    static_cast<void>(conn.connection.send(is_active ? conn.peer->send_queue_ : none,
                                           TcpFrameKind::shutdown, {}, {}));
  }
}

int ConnectionManager::poll(Receiver& receiver, Sink& sink) {
  const std::uint64_t before = counts_.frames_received;
  for (PeerConnection* peer : std::exchange(failed_sends_, {}))
    if (peer->active_conn_)
      close(connections_.at(peer->active_conn_->descriptor()),
            Error(ErrorClass::other, "a send over the connection failed"));
  epoll_event events[kMaxEvents];
  const int count = ::epoll_wait(events_.get(), events, kMaxEvents, 0);
  for (int i = 0; i < count; ++i) {
    if (std::ranges::find(listeners_, events[i].data.fd, &base::Descriptor::get) !=
        listeners_.end()) {
      accept_all(events[i].data.fd);
      continue;
    }
    auto at = connections_.find(events[i].data.fd);  // an earlier event may have closed it
    if (at != connections_.end()) on_event(at->second, events[i].events, receiver, sink);
  }
  check_timeouts();
  return static_cast<int>(counts_.frames_received - before);
}

void ConnectionManager::on_event(ManagedConnection& conn, std::uint32_t events, Receiver& receiver,
                                 Sink& sink) {
  if (conn.connection.state() == Connection::State::connecting) return on_connected(conn);
  if ((events & EPOLLOUT) != 0) {
    watch(conn.connection, false, false);
    if (conn.peer && conn.peer->active_conn_ == &conn.connection) send_pending(*conn.peer);
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read(conn, receiver, sink);
}

int ConnectionManager::poll_from(PeerConnection& peer, Receiver& receiver, Sink& sink) {
  if (peer.last_recv_conn_ == nullptr || !failed_sends_.empty()) return poll(receiver, sink);
  const std::uint64_t before = counts_.frames_received;
  read(*peer.last_recv_conn_, receiver, sink);
  return static_cast<int>(counts_.frames_received - before);
}

/// Passes the frames of one connection to their receiver.
class ConnectionManager::FrameDispatcher final : public Connection::FrameHandler {
 public:
  FrameDispatcher(ConnectionManager& manager, ManagedConnection& conn, Receiver& receiver)
      : manager_(manager), conn_(conn), receiver_(receiver) {}
  bool on_frame(const ReceivedFrame& frame) override {
    return manager_.on_frame(conn_, frame, receiver_);
  }

 private:
  ConnectionManager& manager_;
  ManagedConnection& conn_;
  Receiver& receiver_;
};

void ConnectionManager::read(ManagedConnection& conn, Receiver& receiver, Sink& sink) {
  if (!frame_buffer_)
    frame_buffer_ = base::make_unique_for_overwrite<std::byte[]>(kFrameBufferBytes);
  FrameDispatcher frames(*this, conn, receiver);
  auto is_open = conn.connection.receive({frame_buffer_.get(), kFrameBufferBytes}, frames, sink);
  if (!is_open)
    close(conn, is_open.error());
  else if (!*is_open)
    on_end(conn);
}

/// The peer has shut down its sending side. It reads until this process closes, or has ended; so
/// send what is queued, and do not treat it as broken.
void ConnectionManager::on_end(ManagedConnection& conn) {
  PeerConnection* peer = conn.peer;
  if (peer && peer->active_conn_ == &conn.connection &&
      conn.connection.state() == Connection::State::open)
    (void)conn.connection.send(peer->send_queue_);
  close(conn, Error(ErrorClass::other, "the peer has closed the connection"), false);
}

/// Close only connections that opened a fabric: packets on a later connection could overtake
/// earlier ones.
void ConnectionManager::close_if_unused(PeerConnection& with) {
  if (with.carries_packets_ || with.active_conn_ == nullptr ||
      with.active_conn_->state() != Connection::State::open || !with.send_queue_.is_empty())
    return;
  with.active_conn_->shutdown_send();
  with.active_conn_ = nullptr;
}

bool ConnectionManager::on_frame(ManagedConnection& conn, const ReceivedFrame& frame,
                                 Receiver& receiver) {
  if (frame.kind == TcpFrameKind::shutdown) [[unlikely]] {
    if (conn.peer != nullptr) conn.peer->got_shutdown_notice_ = true;
    return conn.peer != nullptr;
  }
  switch (conn.connection.state()) {
    case Connection::State::unauthenticated:
      return conn.seal ? on_proof(conn, frame) : on_hello(conn, frame);
    case Connection::State::handshaking:
      return conn.seal ? on_welcome(conn, frame) : on_challenge(conn, frame);
    default:
      break;
  }
  if (frame.kind == TcpFrameKind::sealed) return on_sealed(conn, frame, receiver);
  if (frame.kind != TcpFrameKind::packet) return false;
  ++counts_.frames_received;
  conn.peer->carries_packets_ = true;
  conn.peer->last_recv_conn_ = &conn;
  receiver.on_frame(*conn.peer, frame);
  return true;
}

bool ConnectionManager::on_sealed(ManagedConnection& conn, const ReceivedFrame& frame,
                                  Receiver& receiver) {
  const auto plain = conn.seal->open(frame.bytes);
  SealedHead head{};
  if (!plain || plain->size() < sizeof head) return false;
  std::memcpy(&head, plain->data(), sizeof head);
  const ReceivedFrame inner{.kind = static_cast<TcpFrameKind>(head.kind),
                            .bytes = ConstSpan(*plain).subspan(sizeof head)};
  ++counts_.frames_received;
  if (inner.kind == TcpFrameKind::packet) {
    conn.peer->carries_packets_ = true;
    conn.peer->last_recv_conn_ = &conn;
  }
  receiver.on_frame(*conn.peer, inner);
  return true;
}

/// Close and remove a connection. A connection attempt continues with the next address. If the
/// active connection breaks while it carries packets, or frames for it are queued, the peer fails,
/// because this process cannot know which data arrived.
void ConnectionManager::close(ManagedConnection& conn, const Error& reason, bool is_broken) {
  const Connection::State state = conn.connection.state();
  const bool was_open = state == Connection::State::open;
  if (state == Connection::State::unauthenticated) {
    ++counts_.refused;
    unauthenticated_removed();
  }
  PeerConnection* peer = conn.peer;
  if (peer && (was_open || state == Connection::State::closing)) {
    --peer->open_connections_;
    peer->peer_closed_ = peer->peer_closed_ || was_open;
  }
  if (peer && peer->last_recv_conn_ == &conn) peer->last_recv_conn_ = nullptr;
  if (peer && peer->active_conn_ == &conn.connection) {
    peer->active_conn_ = nullptr;
    peer->message_conn_ = nullptr;
    if (was_open && (!peer->send_queue_.is_empty() || (is_broken && peer->carries_packets_))) {
      fail_peer(*peer, Error(ErrorClass::proc_aborted, "the connection to a process at " +
                                                           peer->address_.text() +
                                                           " is lost: " + reason.text()));
    } else if (!was_open) {
      on_failed_connect(*peer, reason);
      // the peer has accepted, and may have closed because this process polled too seldom
      if (state == Connection::State::handshaking &&
          base::now_ns() - conn.begun > kAuthTimeoutWhenFull)
        reset_attempts(*peer);
      if (!use_open_connection(*peer)) connect(*peer);
    }
  }
  // close(2) alone would keep its events if a forked child also has the descriptor
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, conn.connection.descriptor(), nullptr);
  connections_.erase(conn.connection.descriptor());
}

bool ConnectionManager::has_timed_out(const ManagedConnection& conn, base::Nanoseconds now) const {
  const base::Nanoseconds waited = now - conn.connection.in_state_since();
  switch (conn.connection.state()) {
    case Connection::State::open:
    case Connection::State::closing:
      // The peer may be busy, and data that it sent before it sees the end must be read.
      return false;
    case Connection::State::unauthenticated:
      return waited > (may_accept() ? kAuthTimeout : kAuthTimeoutWhenFull);
    case Connection::State::connecting:
      return waited > kConnectTimeout;
    case Connection::State::handshaking:
      return waited > kConnectTimeout && conn.peer->address_.addresses.size() > 1;
  }
  return false;
}

void ConnectionManager::check_timeouts() {
  const base::Nanoseconds now = base::now_ns();
  if (now < next_timeout_check_) return;
  next_timeout_check_ = now + kTimeoutCheckInterval;
  if (!is_watching_listeners_) watch_listeners();
  std::vector<ManagedConnection*> timed_out;
  for (auto& [descriptor, conn] : connections_)
    if (has_timed_out(conn, now)) timed_out.push_back(&conn);
  // a process that accepted and does not answer may be busy; close() does not count the attempt
  for (ManagedConnection* conn : timed_out) close(*conn, Error(ErrorClass::other, "no response"));
}

/// Ignores peers that have not responded for kConnectTimeout: a process that waits for this one has
/// connected to it. Other peers need not poll, because their kernels acknowledge the data. Kernels
/// delay that, so this process acknowledges at once all that it has received.
bool ConnectionManager::is_flushed() const {
  for (const auto& [descriptor, conn] : connections_) conn.connection.acknowledge();
  const base::Nanoseconds now = base::now_ns();
  return std::ranges::all_of(peers_, [&](const auto& entry) {
    const PeerConnection& peer = *entry.second;
    if (peer.active_conn_ == nullptr)
      return peer.failure_ || (peer.send_queue_.is_empty() && peer.pending_.frames.empty());
    if (peer.active_conn_->state() != Connection::State::open)
      return now - peer.active_conn_->in_state_since() > kConnectTimeout;
    return peer.send_queue_.is_empty() && peer.active_conn_->is_delivered();
  });
}

void ConnectionManager::sleep(base::Nanoseconds nanoseconds) const {
  const timespec longest{
      0, static_cast<long>(std::clamp<base::Nanoseconds>(nanoseconds, 0, 999'999'999))};
  pollfd events{.fd = events_.get(), .events = POLLIN, .revents = 0};
  (void)::ppoll(&events, 1, &longest, nullptr);
}

}  // namespace shim::transport
