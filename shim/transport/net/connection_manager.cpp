// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/connection_manager.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "shim/base/cookie.hpp"
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
/// Tries per address, because a listener's queue may be full for a moment.
constexpr std::size_t kConnectRounds = 3;
/// An unauthenticated connection is closed after this time; a peer of the job may compute between
/// connect and hello.
constexpr base::Nanoseconds kAuthTimeout = 10'000'000'000;
/// Timeout if the limit of unauthenticated connections is reached, so that no further ones are
/// accepted. A peer of the job reconnects.
constexpr base::Nanoseconds kAuthTimeoutWhenFull = 100'000'000;
/// Limit of unauthenticated connections, so that they cannot exhaust the process's descriptors;
/// further ones wait in the listen queue. Peers of the job leave this state in the poll that reads
/// their hello.
constexpr std::size_t kMaxUnauthenticated = 128, kMinUnauthenticated = 4, kDescriptorShare = 8;
/// Ports tried until one is free at all addresses.
constexpr int kMaxPortTries = 16;
constexpr base::Nanoseconds kTimeoutCheckInterval = 100'000'000;

template <typename T>
ConstSpan bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// Return the limit: at most 1/kDescriptorShare of the process's descriptors.
std::size_t max_unauthenticated() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMinUnauthenticated;
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur) / kDescriptorShare,
                    kMinUnauthenticated, kMaxUnauthenticated);
}

}  // namespace

Presence PeerConnection::presence() const {
  if (open_connections_ > 0) return Presence::present;
  if (peer_closed_) return Presence::gone;
  if (!failure_ || connect_round_.other) return Presence::unknown;
  return connect_round_.refused           ? Presence::gone
         : connect_round_.refused_locally ? Presence::gone_if_local
                                          : Presence::unknown;
}

namespace {

Result<base::Descriptor> open_listener(const IpAddress& address, std::uint16_t& port) {
  base::Descriptor socket(base::above_standard_streams(
      ::socket(address.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  if (!socket.is_open()) return base::system_error(errno, "socket");
  sockaddr_storage name;
  socklen_t length = address.to_socket_address(port, name);
  auto* generic = reinterpret_cast<sockaddr*>(&name);
  if (::bind(socket.get(), generic, length) != 0) return base::system_error(errno, "bind");
  if (::listen(socket.get(), SOMAXCONN) != 0) return base::system_error(errno, "listen");
  if (::getsockname(socket.get(), generic, &length) != 0)
    return base::system_error(errno, "getsockname");
  sockaddr_in either{};  // the port has the same offset in both
  std::memcpy(&either, &name, sizeof either);
  port = ntohs(either.sin_port);
  return socket;
}

}  // namespace

/// Listen at all addresses with one port. Another process may use the port at a later address; then
/// try another port.
Result<ConnectionManager::Listeners> ConnectionManager::open_listeners(
    const std::vector<IpAddress>& addresses, std::uint16_t& port) {
  for (int tries = 0;; ++tries) {
    Listeners listeners;
    port = 0;
    for (const IpAddress& address : addresses) {
      auto listener = open_listener(address, port);
      if (listener) {
        listeners.push_back(*std::move(listener));
        continue;
      }
      const bool is_taken = listener.error().foreign_code() == EADDRINUSE;
      if (!is_taken || tries >= kMaxPortTries)
        return std::move(listener).error().within("cannot listen at " + address.text());
      break;
    }
    if (listeners.size() == addresses.size()) return listeners;
  }
}

Result<std::unique_ptr<ConnectionManager>> ConnectionManager::listen(const std::string& interface) {
  TcpAddress local{.cookie = 0, .port = 0, .addresses = local_addresses(interface)};
  if (local.addresses.empty())
    return Error(ErrorClass::other,
                 "this node has no network address for connections from other nodes; check "
                 "INTERSESSION_INTERFACE");
  // now, because a refused handshake cannot tell the caller why
  SHIM_TRY_ASSIGN(auto crypto, Crypto::load());
  SHIM_TRY_ASSIGN(local.cookie, base::random_cookie());
  SHIM_TRY_ASSIGN(Listeners listeners, open_listeners(local.addresses, local.port));
  base::Descriptor events(base::above_standard_streams(::epoll_create1(EPOLL_CLOEXEC)));
  if (!events.is_open()) return base::system_error(errno, "epoll_create1");
  std::unique_ptr<ConnectionManager> made(new ConnectionManager(
      std::move(listeners), std::move(events), std::move(local), std::move(crypto)));
  made->watch_listeners();
  if (!made->is_watching_listeners_) return base::system_error(errno, "epoll_ctl");
  return made;
}

ConnectionManager::ConnectionManager(Listeners listeners, base::Descriptor events, TcpAddress local,
                                     std::shared_ptr<const Crypto> crypto)
    : listeners_(std::move(listeners)),
      events_(std::move(events)),
      local_address_(std::move(local)),
      crypto_(std::move(crypto)),
      max_unauthenticated_(max_unauthenticated()) {}

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
  for (const ConstSpan part : {bytes_of(head), first, second})
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

/// Connect to the peer's addresses from the next one on, until one attempt begins.
void ConnectionManager::connect(PeerConnection& peer) {
  while (!peer.failure_ && !connect_next(peer)) {
    if (use_open_connection(peer)) return;
  }
}

/// After a failed attempt to connect, send over a connection that the peer has opened, if there is
/// one: the network may let only one of the two processes connect. Return false if there is none.
bool ConnectionManager::use_open_connection(PeerConnection& peer) {
  if (peer.open_connections_ == 0) return false;
  const auto open = std::ranges::find_if(connections_, [&](const auto& entry) {
    const ManagedConnection& conn = entry.second;
    return conn.peer == &peer && conn.connection.state() == Connection::State::open;
  });
  if (open == connections_.end()) return false;
  peer.active_conn_ = &open->second.connection;
  peer.next_address_ = 0;
  send_pending(peer);
  return true;
}

bool ConnectionManager::connect_next(PeerConnection& peer) {
  const auto& addresses = peer.address_.addresses;
  if (peer.next_address_ >= addresses.size() * kConnectRounds) {
    fail_peer(peer, Error(ErrorClass::proc_aborted,
                          "cannot connect to a process at " + peer.address_.text() + " (" +
                              peer.last_connect_error_ +
                              "): it has exited, or this node cannot reach its node; select the "
                              "network with INTERSESSION_INTERFACE"));
    return true;
  }
  const std::size_t next = peer.next_address_++ % addresses.size();
  if (next == 0) peer.connect_round_ = {};
  auto connection = Connection::connect(addresses[next], peer.address_.port);
  if (!connection) {
    on_failed_connect(peer, connection.error());
    return false;
  }
  const int descriptor = connection->descriptor();
  ManagedConnection& conn = connections_
                                .try_emplace(descriptor,
                                             ManagedConnection{*std::move(connection), &peer})
                                .first->second;
  peer.active_conn_ = &conn.connection;
  watch(conn.connection, true, true);
  return true;
}

/// Continue with the next address, without limit: the failed attempts do not prove that the process
/// is unreachable.
void ConnectionManager::reset_attempts(PeerConnection& peer) {
  peer.next_address_ %= peer.address_.addresses.size();
}

/// Record a failed attempt at the last address.
void ConnectionManager::on_failed_connect(PeerConnection& peer, const Error& reason) {
  peer.last_connect_error_ = reason.text();
  const bool is_refused = reason.origin() == base::Origin::system &&
                          reason.foreign_code() == ECONNREFUSED;
  const auto& addresses = peer.address_.addresses;
  if (!is_refused)
    peer.connect_round_.other = true;
  else if (is_local_address(
               addresses[(peer.next_address_ + addresses.size() - 1) % addresses.size()]))
    peer.connect_round_.refused_locally = true;
  else
    peer.connect_round_.refused = true;
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

void ConnectionManager::watch_listeners() {
  is_watching_listeners_ = std::ranges::all_of(listeners_, [&](const base::Descriptor& listener) {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = listener.get()}};
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, listener.get(), &wanted) == 0 ||
           errno == EEXIST;
  });
}

/// Stop watching the listeners while descriptors or memory are short, or too many connections are
/// unauthenticated: waiting connections would otherwise keep epoll readable, and no thread could
/// sleep.
void ConnectionManager::pause_accepting() {
  for (const base::Descriptor& listener : listeners_)
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
  is_watching_listeners_ = false;
  next_timeout_check_ = base::now_ns() + kTimeoutCheckInterval;
}

void ConnectionManager::accept_all(int listener) {
  for (;;) {
    if (!may_accept()) return pause_accepting();
    base::Descriptor socket(base::above_standard_streams(
        ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)));
    if (!socket.is_open()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        pause_accepting();
      return;
    }
    const int descriptor = socket.get();
    const auto at = connections_
                        .try_emplace(
                            descriptor,
                            ManagedConnection{Connection::accepted(std::move(socket)), nullptr})
                        .first;
    watch(at->second.connection, true, false);
    ++unauthenticated_;
  }
}

/// An unauthenticated connection was authenticated or is about to be closed.
void ConnectionManager::unauthenticated_removed() {
  --unauthenticated_;
  if (!is_watching_listeners_) watch_listeners();
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

void ConnectionManager::on_connected(ManagedConnection& conn) {
  Connection& connection = conn.connection;
  if (auto failure = connection.connect_error()) return close(conn, *failure);
  connection.set_state(Connection::State::handshaking);
  conn.peer->was_connected_ = true;
  auto nonce = random_nonce();
  if (!nonce) return close(conn, nonce.error());
  conn.nonce = *nonce;
  const Hello hello{Hello::kKind, *nonce};
  if (!send_handshake(conn, TcpFrameKind::hello, bytes_of(hello)))
    return close(conn, Error(ErrorClass::other, "the handshake cannot be sent"));
  watch(connection, false, false);
}

/// Send a handshake frame; a new connection has space for all of them.
bool ConnectionManager::send_handshake(ManagedConnection& conn, TcpFrameKind kind,
                                       ConstSpan bytes) {
  FrameQueue frames;
  frames.add(kind, bytes);
  return conn.connection.send(frames) && frames.is_empty();
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

/// Caller: both ends have the same key from now on, if the peer knows its secret.
bool ConnectionManager::on_challenge(ManagedConnection& conn, const ReceivedFrame& frame) {
  Challenge challenge{};
  if (frame.kind != TcpFrameKind::challenge || frame.bytes.size() != sizeof challenge) return false;
  std::memcpy(&challenge, frame.bytes.data(), sizeof challenge);
  PeerConnection& peer = *conn.peer;
  const auto prove = [&]() -> Result<Bytes> {
    SHIM_TRY_ASSIGN(conn.seal, Seal::make(crypto_, Seal::Side::caller, peer.address_.cookie,
                                          conn.nonce, challenge.nonce));
    return conn.seal->close(local_address_.to_bytes());
  };
  auto proof = prove();
  if (proof) return send_handshake(conn, TcpFrameKind::proof, *proof);
  fail_peer(peer, std::move(proof).error());
  return false;
}

bool ConnectionManager::on_welcome(ManagedConnection& conn, const ReceivedFrame& frame) {
  if (frame.kind != TcpFrameKind::welcome || !conn.seal->open(frame.bytes)) return false;
  PeerConnection& peer = *conn.peer;
  conn.connection.set_state(Connection::State::open);
  ++peer.open_connections_;
  peer.next_address_ = 0;
  ++counts_.connections;
  send_pending(peer);
  return true;
}

bool ConnectionManager::on_hello(ManagedConnection& conn, const ReceivedFrame& frame) {
  Hello hello{};
  if (frame.kind != TcpFrameKind::hello || frame.bytes.size() != sizeof hello) return false;
  std::memcpy(&hello, frame.bytes.data(), sizeof hello);
  if (hello.kind != Hello::kKind) return false;
  auto nonce = random_nonce();
  if (!nonce) return false;
  auto seal = Seal::make(crypto_, Seal::Side::called, local_address_.cookie, hello.nonce, *nonce);
  if (!seal) return false;
  conn.seal = *std::move(seal);
  const Challenge challenge{*nonce};
  return send_handshake(conn, TcpFrameKind::challenge, bytes_of(challenge));
}

bool ConnectionManager::on_proof(ManagedConnection& conn, const ReceivedFrame& frame) {
  if (frame.kind != TcpFrameKind::proof) return false;
  const auto address = conn.seal->open(frame.bytes);
  if (!address) return false;  // before any of it is stored
  auto caller = open(*address);
  auto welcome = conn.seal->close({});
  if (!caller || !welcome) return false;
  conn.connection.set_state(Connection::State::open);
  unauthenticated_removed();
  conn.peer = *caller;
  ++(*caller)->open_connections_;
  (*caller)->was_connected_ = true;
  if (!send_handshake(conn, TcpFrameKind::welcome, *welcome)) return false;
  if ((*caller)->active_conn_ == nullptr) (*caller)->active_conn_ = &conn.connection;
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
