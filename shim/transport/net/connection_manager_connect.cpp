// SPDX-License-Identifier: BSD-3-Clause
// Implements how connections are made: listeners, attempts to connect, and the handshake, in which
// both processes prove that they know the secret of the called process (seal.hpp).
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shim/base/cookie.hpp"
#include "shim/transport/net/connection_manager.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;

/// Limit of unauthenticated connections, so that they cannot exhaust the process's descriptors;
/// further ones wait in the listen queue. Peers of the job leave this state in the poll that reads
/// their hello.
constexpr std::size_t kMaxUnauthenticated = 128, kMinUnauthenticated = 4, kDescriptorShare = 8;
/// Tries per address, because a listener's queue may be full for a moment.
constexpr std::size_t kConnectRounds = 3;
/// Ports tried until one is free at all addresses.
constexpr int kMaxPortTries = 16;

/// Return the limit: at most 1/kDescriptorShare of the process's descriptors.
std::size_t max_unauthenticated() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMinUnauthenticated;
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur) / kDescriptorShare,
                    kMinUnauthenticated, kMaxUnauthenticated);
}

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

void ConnectionManager::on_connected(ManagedConnection& conn) {
  Connection& connection = conn.connection;
  if (auto failure = connection.connect_error()) return close(conn, *failure);
  connection.set_state(Connection::State::handshaking);
  conn.peer->was_connected_ = true;
  auto nonce = random_nonce();
  if (!nonce) return close(conn, nonce.error());
  conn.nonce = *nonce;
  const Hello hello{Hello::kKind, *nonce};
  if (!send_handshake(conn, TcpFrameKind::hello, wire_bytes(hello)))
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
  return send_handshake(conn, TcpFrameKind::challenge, wire_bytes(challenge));
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

}  // namespace shim::transport
