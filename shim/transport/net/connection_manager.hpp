// SPDX-License-Identifier: BSD-3-Clause
// ConnectionManager exchanges messages with processes over TCP, connecting on demand.
//
// TCP exists between the nodes of every cluster, because launchers use it, and costs a process one
// listening port.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/base/descriptor.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/failure_detector.hpp"
#include "shim/transport/net/address.hpp"
#include "shim/transport/net/connection.hpp"
#include "shim/transport/net/frame.hpp"
#include "shim/transport/net/seal.hpp"
#include "shim/transport/presence_detector.hpp"

namespace shim::transport {

class PeerConnection;

/// A connection and its peer.
struct ManagedConnection {
  Connection connection;
  PeerConnection* peer = nullptr;            ///< null while unauthenticated
  base::Nanoseconds begun = base::now_ns();  ///< of connect(2), or accepted
  Nonce nonce{};                             ///< the caller's, if this process connected
  std::optional<Seal> seal{};                ///< set from the challenge on
};

/// One other process; lives as long as its ConnectionManager.
class PeerConnection {
 public:
  explicit PeerConnection(TcpAddress address) : address_(std::move(address)) {}
  const TcpAddress& address() const { return address_; }
  /// Return why the process is unreachable for good (proc_aborted); null if it may be reachable.
  const base::Error* failure() const { return failure_ ? &*failure_ : nullptr; }
  /// True if a connection was closed by the peer and none is left that could deliver data.
  /// Processes close connections that carry packets only when they end, and get another address
  /// when they re-initialize.
  bool has_disconnected() const { return open_connections_ == 0 && (peer_closed_ || failure_); }
  /// Return the known state. A refused connection proves that the process no longer listens; a
  /// timeout or a missing route proves nothing.
  Presence presence() const;
  ShutdownNotice shutdown_notice() const {
    if (got_shutdown_notice_) return ShutdownNotice::received;
    return was_connected_ ? ShutdownNotice::missing : ShutdownNotice::not_expected;
  }
  /// True if the system would accept this many bytes at once with an empty send buffer.
  bool fits_in_buffer(std::size_t bytes) const {
    return active_conn_ != nullptr && active_conn_->fits_in_buffer(bytes);
  }

 private:
  friend class ConnectionManager;
  TcpAddress address_;
  std::optional<base::Error> failure_;
  FrameQueue send_queue_;
  /// Frames that wait for a connection, to be sealed with its keys.
  struct PendingFrame {
    TcpFrameKind kind;
    Bytes bytes;
  };
  struct PendingFrames {
    std::vector<PendingFrame> frames;
    std::size_t bytes = 0;
  } pending_;
  Connection* active_conn_ = nullptr;  ///< sends go over this one
  /// Connection of its last packet, mostly active_conn_.
  ManagedConnection* last_recv_conn_ = nullptr;
  std::size_t next_address_ = 0;  ///< to try next
  int open_connections_ = 0;      ///< authenticated by both ends
  bool peer_closed_ = false;      ///< an open connection has ended, or failed
  bool was_connected_ = false;    ///< connect(2) succeeded, or the peer has authenticated itself
  bool got_shutdown_notice_ = false;
  bool carries_packets_ = false;              ///< packets go over its connection
  const Connection* message_conn_ = nullptr;  ///< the active connection, once messages use it
  std::string last_connect_error_;            ///< why the last connection attempt failed
  /// Results of trying all its addresses once.
  struct ConnectRound {
    bool refused = false, refused_locally = false;  ///< by another machine, by this one
    bool other = false;                             ///< any other failure
  } connect_round_;
};

/// Connections to peers. Takes no lock of its own, like transports. An address contains a secret of
/// its process, the cookie. Caller and called process prove that they know it without sending it
/// (seal.hpp); others are rejected.
///
/// Size: one function for each frame of the handshake and for each event of a connection. All of
/// them change the same tables of peers and connections.
class ConnectionManager {
 public:
  /// Receiver of arrived frames.
  class Receiver {
   public:
    /// The frame's bytes are valid during the call. May call open() and send().
    virtual void on_frame(PeerConnection& from, const ReceivedFrame& frame) = 0;

   protected:
    ~Receiver() = default;
  };

  /// Listen at this process's addresses only, on one port that the system chooses. interface: see
  /// local_addresses(). Local. Errors: other (no network, no socket, no
  /// libcrypto).
  static base::Result<std::unique_ptr<ConnectionManager>> listen(const std::string& interface);

  const TcpAddress& address() const { return local_address_; }
  /// Return the peer of this address. Local. Errors: arg (not an address of this kind).
  base::Result<PeerConnection*> open(ConstSpan address);

  /// Send a sealed frame. False: too much is queued; retry after polling. Errors: the peer's
  /// failure.
  base::Result<bool> send(PeerConnection& to, TcpFrameKind kind, ConstSpan first,
                          ConstSpan second = {});
  /// Send a packet in clear. Accepts it only if the system's send buffer has space for all of it,
  /// so that it arrives whatever this process does next. False: not now; the first call starts the
  /// connection.
  [[gnu::hot]] base::Result<bool> send_now(PeerConnection& to, ConstSpan first, ConstSpan second);
  /// Connect unless connected. If the process has ended, the attempt fails and failure() reports
  /// it. If it ends later, the connection ends, or the next attempt fails.
  void ensure_connecting(PeerConnection& peer) {
    if (!peer.failure_ && peer.active_conn_ == nullptr) connect(peer);
  }
  /// Close the connection if it carries no packets, so that this process does not keep a descriptor
  /// for each peer that it sent only one request.
  void close_if_unused(PeerConnection& with);
  /// Announce the orderly end of this process to all peers with a connection, and to callers that
  /// wait for an answer. Does not block; skips connections without buffer space.
  void send_shutdown_notices();
  /// Make progress; return the number of received frames. `sink` provides destinations of payloads
  /// (Sink::place).
  [[gnu::hot]] int poll(Receiver& receiver, Sink& sink);
  /// Poll for one peer whose packets arrive over TCP; may ignore others.
  [[gnu::hot]] int poll_from(PeerConnection& peer, Receiver& receiver, Sink& sink);
  /// True if all sent data has reached the other machines or is lost for good. A process that ends
  /// waits for that, and acknowledges received data meanwhile.
  bool is_flushed() const;

  /// Descriptor that becomes readable when poll() has work.
  int descriptor() const { return events_.get(); }
  /// Sleep until data may have arrived, at most this long. Without the owner's lock.
  void sleep(base::Nanoseconds nanoseconds) const;

  struct Counts {
    std::uint64_t connections = 0;  ///< opened by this process
    std::uint64_t frames_sent = 0, bytes_sent = 0, frames_received = 0;
    std::uint64_t refused = 0;  ///< connections that failed to authenticate
  };
  const Counts& counts() const { return counts_; }

 private:
  static constexpr base::Nanoseconds kTimeoutCheckInterval = 100'000'000;

  class FrameDispatcher;
  using Listeners = std::vector<base::Descriptor>;

  // --- connection_manager_connect.cpp
  ConnectionManager(Listeners listeners, base::Descriptor events, TcpAddress local,
                    std::shared_ptr<const Crypto> crypto);
  static base::Result<Listeners> open_listeners(const std::vector<IpAddress>& addresses,
                                                std::uint16_t& port);
  void watch_listeners();
  void pause_accepting();
  void accept_all(int listener);
  bool may_accept() const { return unauthenticated_ < max_unauthenticated_; }
  void unauthenticated_removed();
  void connect(PeerConnection& peer);
  bool connect_next(PeerConnection& peer);
  bool use_open_connection(PeerConnection& peer);
  static void reset_attempts(PeerConnection& peer);
  static void on_failed_connect(PeerConnection& peer, const base::Error& reason);
  void on_connected(ManagedConnection& conn);
  bool on_hello(ManagedConnection& conn, const ReceivedFrame& frame);
  bool on_challenge(ManagedConnection& conn, const ReceivedFrame& frame);
  bool on_proof(ManagedConnection& conn, const ReceivedFrame& frame);
  bool on_welcome(ManagedConnection& conn, const ReceivedFrame& frame);
  static bool send_handshake(ManagedConnection& conn, TcpFrameKind kind, ConstSpan bytes);

  // --- connection_manager.cpp
  void send_pending(PeerConnection& peer);
  base::Status send_sealed(PeerConnection& to, TcpFrameKind kind, ConstSpan first,
                           ConstSpan second);
  [[gnu::hot]] void count_sent(std::size_t bytes);
  static void fail_peer(PeerConnection& peer, base::Error why);
  [[gnu::hot]] void on_sent(PeerConnection& peer, const base::Status& sent);
  void watch(const Connection& connection, bool is_new, bool for_output);
  void on_event(ManagedConnection& conn, std::uint32_t events, Receiver& receiver, Sink& sink);
  [[gnu::hot]] void read(ManagedConnection& conn, Receiver& receiver, Sink& sink);
  void on_end(ManagedConnection& conn);
  [[gnu::hot]] bool on_frame(ManagedConnection& conn, const ReceivedFrame& frame,
                             Receiver& receiver);
  bool on_sealed(ManagedConnection& conn, const ReceivedFrame& frame, Receiver& receiver);
  [[gnu::hot]] void check_timeouts();
  bool has_timed_out(const ManagedConnection& conn, base::Nanoseconds now) const;
  /// @param is_broken data that has left may not have arrived
  void close(ManagedConnection& conn, const base::Error& reason, bool is_broken = true);

  Listeners listeners_;
  base::Descriptor events_;
  TcpAddress local_address_;
  const std::shared_ptr<const Crypto> crypto_;
  std::unordered_map<std::uint64_t, std::unique_ptr<PeerConnection>> peers_;  ///< by cookie
  std::unordered_map<int, ManagedConnection> connections_;  ///< by descriptor; entries do not move
  std::vector<PeerConnection*> failed_sends_;               ///< peers to which a send failed
  /// Scratch of kFrameBufferBytes for receiving, allocated at first use.
  std::unique_ptr<std::byte[]> frame_buffer_;
  base::Nanoseconds next_timeout_check_ = 0;
  bool is_watching_listeners_ = false;
  std::size_t unauthenticated_ = 0;  ///< connections in this state
  const std::size_t max_unauthenticated_;
  Counts counts_;
};

}  // namespace shim::transport
