// SPDX-License-Identifier: BSD-3-Clause
// Transport interface: moves packets between processes. Backends: shm/ (node shared memory), net/
// (TCP), ofi/ (libfabric), self/, loop/ (tests).
//
// A packet is a short byte string. Each packet is delivered once, whole, and in the order sent per
// pair of processes and transport. A transport knows nothing of MPI, ranks, tags or a packet's
// contents. It takes no lock of its own: its owner (p2p::Engine) calls it under one lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::transport {

using Bytes = std::vector<std::byte>;
using ConstSpan = std::span<const std::byte>;

/// A connection to one other process, owned by its transport. Opening it causes no network traffic;
/// the first send may.
class Link {
 public:
  virtual ~Link() = default;
};

/// Destination of a packet's payload.
struct Placement {
  std::size_t header_bytes;  ///< of the packet, in front of its payload
  std::span<std::byte> payload;
};

struct MatchedReceive;

/// Receives arrived packets. The bytes belong to the transport and are valid only during the call.
/// A sink must not call the transport's poll, but may send.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Return the destination of the payload of a packet that has begun to arrive, so that it need
  /// not be copied; nullopt to receive the packet whole through on_packet, and if `beginning` does
  /// not contain the whole header. The result is valid until the transport returns from poll. While
  /// payload is missing, the transport calls place() again before each read, with at least the
  /// header; if that returns nullopt, it discards the bytes that it reads.
  /// @param beginning the packet's bytes that have arrived
  /// @param bytes length of the whole packet
  virtual std::optional<Placement> place([[maybe_unused]] ConstSpan beginning,
                                         [[maybe_unused]] std::size_t bytes) {
    return std::nullopt;
  }
  /// The payload of a placed packet has arrived completely, or was dropped.
  virtual void on_placed([[maybe_unused]] ConstSpan header,
                         [[maybe_unused]] std::size_t payload_bytes) {}
  /// Return false to stop for now: packets that have arrived may stay with the transport until the
  /// next poll. A transport may ignore the result.
  virtual bool on_packet(ConstSpan packet) = 0;
  // Outcome of a receive posted to the transport's matcher (matching.hpp). The matcher no longer
  // refers to the receive.
  /// The packet matched the receive. An empty packet: the receive ended without a valid message.
  virtual void on_matched([[maybe_unused]] MatchedReceive& receive,
                          [[maybe_unused]] ConstSpan packet) {}
  /// The owner cancelled the receive before a message matched it.
  virtual void on_cancelled([[maybe_unused]] MatchedReceive& receive) {}
};

/// Result of an attempt that must not block.
enum class Attempt : std::uint8_t {
  done,
  again,  ///< no free space; retry after polling
  /// Not possible on this transport or link, or not this time; use another path.
  unsupported,
};

/// Farthest process that a transport reaches.
enum class Reach : std::uint8_t { own_process, node, other_nodes };

// Optional interfaces, each in a header of its own.
class CooperativeWrites;
class Fabric;
class FailureDetector;
class LossDetector;
class Matcher;
class PresenceDetector;
class ReceiveInPlace;
class RegisteredReads;
class RemoteReads;
class SendInPlace;
class SetupPath;
class Sleeper;
class StreamLimits;

/// The functions that every transport implements, and its optional interfaces: each is null if the
/// transport does not have it. An answer never changes, except that of matcher().
class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  virtual Reach reach() const = 0;
  /// Longest packet (header and payload together) that try_send accepts.
  virtual std::size_t max_packet_bytes() const = 0;
  /// Return the bytes with which another process opens a link to this one; opaque, at most 512.
  virtual Bytes address() const = 0;

  /// Open a link to the process with this address. Local. The link lives as long as the transport.
  /// Errors: arg (not an address of this transport), no_space, no_mem.
  virtual base::Result<Link*> open(ConstSpan address) = 0;

  /// Send header and payload as one packet. The buffers may be reused on return, whatever the
  /// result. Errors: proc_aborted (the peer is known to be gone), other.
  virtual base::Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) = 0;

  /// Make progress and pass arrived packets to the sink; return their number. Bounded work per
  /// call.
  virtual base::Result<int> poll(Sink& sink) = 0;
  /// Poll for a caller that waits for this link's process; packets of other processes may stay
  /// queued, which saves time.
  virtual base::Result<int> poll_link([[maybe_unused]] Link& link, Sink& sink) {
    return poll(sink);
  }

  /// True if everything passed to try_send has left this process for good, so that closing loses
  /// nothing. Requires polling, and may require the peers to poll or to have closed.
  virtual bool is_flushed() const = 0;

  struct Counts {
    std::uint64_t links_opened = 0, links_used = 0, packets_sent = 0, bytes_sent = 0,
                  packets_received = 0, sends_again = 0;
    std::uint64_t bytes_read = 0;
    /// In a provider's address vector; connection-oriented providers connect then.
    std::uint64_t addresses_inserted = 0;
    std::uint64_t tcp_connections = 0, tcp_messages = 0, tcp_bytes = 0,
                  fabrics_open = 0;  ///< of net/
    /// Unauthenticated or damaged; dropped.
    std::uint64_t packets_refused = 0;
  };
  virtual const Counts& counts() const = 0;

  virtual ReceiveInPlace* receive_in_place() { return nullptr; }
  virtual SendInPlace* send_in_place() { return nullptr; }
  virtual StreamLimits* stream_limits() { return nullptr; }
  virtual SetupPath* setup_path() { return nullptr; }
  virtual RemoteReads* remote_reads() { return nullptr; }
  virtual RegisteredReads* registered_reads() { return nullptr; }
  virtual CooperativeWrites* cooperative_writes() { return nullptr; }
  virtual Sleeper* sleeper() { return nullptr; }
  virtual FailureDetector* failure_detector() { return nullptr; }
  virtual PresenceDetector* presence_detector() { return nullptr; }
  virtual LossDetector* loss_detector() { return nullptr; }
  virtual Fabric* fabric() { return nullptr; }
  /// Null if the owner has to match, and while that is undecided.
  virtual Matcher* matcher() { return nullptr; }
  /// True if there is a matcher, or may be one later.
  virtual bool may_match() const { return false; }
};

}  // namespace shim::transport
