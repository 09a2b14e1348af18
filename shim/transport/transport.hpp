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
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/error.hpp"
#include "shim/base/result.hpp"
#include "shim/transport/cooperative_copy.hpp"

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

class Matcher;
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

/// Memory of a process that another process may read.
struct RemoteMemory {
  std::uint64_t address = 0;  ///< in its owner's address space; 0: not readable
  std::uint64_t key = 0;      ///< registration key of the owner's transport
};

/// Registration of local memory that another process may read during this object's lifetime.
class MemoryRegistration {
 public:
  virtual ~MemoryRegistration() = default;
  virtual RemoteMemory memory() const = 0;
};

/// A pending read of another process's memory. The destructor guarantees that no more data is
/// written into local memory, and may wait up to 2 s for that.
class Read {
 public:
  virtual ~Read() = default;
  /// Make progress and return the number of bytes read; the transport must be polled as well. Bytes
  /// arrive in any order, so the data is valid only once all have arrived. Errors: proc_aborted
  /// (the peer is known to be gone), other.
  virtual base::Result<std::size_t> progress() = 0;
};

/// State of the process at an address, as far as the transport knows it without communication.
enum class Presence : std::uint8_t {
  unknown,
  present,
  /// The process existed and has ended, or another machine refused the connection.
  gone,
  /// This machine refused the connection: conclusive only for a process on this machine, because
  /// elsewhere the address means another process.
  gone_if_local,
};

/// Most descriptors that sleep() may be passed.
inline constexpr std::size_t kMaxDescriptors = 4;

/// Buffer space for messages that are streamed: copied into shared memory by the sender, and out of
/// it by the receiver.
struct StreamBudget {
  std::uint64_t all = 0;  ///< bytes
  /// Share of one peer if this process sends to all peers that share the memory at a time.
  std::uint64_t for_each = 0;
};

/// Notice of a process that ends its last session. A process that is gone without its expected
/// notice has died.
enum class ShutdownNotice : std::uint8_t {
  /// The process has not communicated with this process; how it ends is unknown.
  not_expected,
  missing,
  received,
};

/// Farthest process that a transport reaches.
enum class Reach : std::uint8_t { own_process, node, other_nodes };

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  /// Longest packet (header and payload together) that try_send accepts.
  virtual std::size_t max_packet_bytes() const = 0;
  /// Return the best packet length for parts of long messages to this peer at this time: longer
  /// than max_packet_bytes if the link accepts that already, or shorter.
  virtual std::size_t long_packet_bytes([[maybe_unused]] const Link& to) const {
    return max_packet_bytes();
  }
  /// Shared buffer space for this process's outgoing packets, if larger than a core's caches; else
  /// 0. Long messages that fit are faster copied twice through it than read once.
  virtual StreamBudget stream_budget() { return {}; }
  /// Return the bytes with which another process opens a link to this one; opaque, at most 512.
  virtual Bytes address() const = 0;

  /// Open a link to the process with this address. Local. The link lives as long as the transport.
  /// Errors: arg (not an address of this transport), no_space, no_mem.
  virtual base::Result<Link*> open(ConstSpan address) = 0;

  /// Prepare for packets of the link's process, which is about to send to this process. Local.
  virtual void expect([[maybe_unused]] Link& link) {}

  /// Send header and payload as one packet. The buffers may be reused on return, whatever the
  /// result. Errors: proc_aborted (the peer is known to be gone), other.
  virtual base::Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) = 0;

  /// Reserve buffer space in which the caller writes the payload. done: `payload` is the space, and
  /// publish() sends the packet once it is written; the caller sends nothing else over this
  /// transport in between. unsupported: send this packet with try_send. Errors: as try_send.
  virtual base::Result<Attempt> try_reserve([[maybe_unused]] Link& link,
                                            [[maybe_unused]] ConstSpan header,
                                            [[maybe_unused]] std::size_t payload_bytes,
                                            [[maybe_unused]] std::span<std::byte>& payload) {
    return Attempt::unsupported;
  }
  /// Send the packet whose payload the caller has written into the reserved space.
  virtual void publish([[maybe_unused]] Link& link) {}

  /// Send like try_send, but for setup messages, which may precede all other traffic. A transport
  /// with a lighter path for them uses it; then they are unordered with packets of try_send.
  virtual base::Result<Attempt> try_send_ahead(Link& link, ConstSpan header, ConstSpan payload) {
    return try_send(link, header, payload);
  }

  /// Make progress and pass arrived packets to the sink; return their number. Bounded work per
  /// call.
  virtual base::Result<int> poll(Sink& sink) = 0;
  /// Poll for a caller that waits for this link's process; packets of other processes may stay
  /// queued. Default: poll everything.
  virtual base::Result<int> poll_link([[maybe_unused]] Link& link, Sink& sink) {
    return poll(sink);
  }

  /// Return the next packet of this link's process in place, without consuming it; valid until
  /// drop_front or the next poll. Empty if no packet has arrived, or if the transport cannot leave
  /// packets in place.
  virtual ConstSpan front([[maybe_unused]] Link& link) { return {}; }
  /// Consume the packet returned by front(); no poll delivers it.
  virtual void drop_front([[maybe_unused]] Link& link, [[maybe_unused]] ConstSpan packet) {}

  /// Read bytes from the other process's memory (address in its address space) into local memory,
  /// without its participation. The other process must have sent the address to this one.
  /// unsupported: the kernel or the fabric forbids it.
  virtual base::Result<Attempt> try_read(Link& link, std::uint64_t remote_address,
                                         std::span<std::byte> into) = 0;

  /// Read into several pieces, one after the other; the result is for all of them.
  virtual base::Result<Attempt> try_read_pieces(Link& link, std::uint64_t remote_address,
                                                std::span<const std::span<std::byte>> into) {
    for (const std::span<std::byte> piece : into) {
      auto read = try_read(link, remote_address, piece);
      if (!read || *read != Attempt::done) return read;
      remote_address += piece.size();
    }
    return Attempt::done;
  }

  /// True if a process reads another process's memory with begin_read, after the other process has
  /// registered it with offer(); false if it calls try_read.
  virtual bool needs_offers() const { return false; }
  /// Register this memory, so that the link's process can read it; null if not possible.
  virtual std::unique_ptr<MemoryRegistration> offer([[maybe_unused]] Link& link,
                                                    [[maybe_unused]] ConstSpan memory) {
    return nullptr;
  }
  /// Begin to read memory offered by the link's process, as many bytes as `into` holds; null if not
  /// possible.
  virtual std::unique_ptr<Read> begin_read([[maybe_unused]] Link& link,
                                           [[maybe_unused]] const RemoteMemory& from,
                                           [[maybe_unused]] std::span<std::byte> into) {
    return nullptr;
  }

  /// Write bytes into the other process's memory, as try_read reads them. With empty `bytes`: check
  /// whether writing is possible.
  virtual base::Result<Attempt> try_write([[maybe_unused]] Link& link,
                                          [[maybe_unused]] std::uint64_t remote_address,
                                          [[maybe_unused]] ConstSpan bytes) {
    return Attempt::unsupported;
  }
  /// Copy descriptor for long messages from, or to, the link's process; null if the two processes
  /// share no memory.
  virtual CooperativeCopy* cooperative_copy_from([[maybe_unused]] Link& link) { return nullptr; }
  virtual CooperativeCopy* cooperative_copy_to([[maybe_unused]] Link& link) { return nullptr; }

  /// Return the matcher; null if the owner has to match, and while that is undecided.
  virtual Matcher* matcher() { return nullptr; }
  /// True if there is a matcher, or may be one later.
  virtual bool may_match() const { return false; }

  /// Text for the user: known hazard of this transport on this system, and the remedy. Mostly
  /// empty.
  virtual std::string_view warning() const { return {}; }

  /// True if the link's process has ended or left this transport for good, and all that it sent has
  /// been delivered or can no longer arrive. False if unknown. A backend may start to connect to
  /// the process to find out.
  virtual bool is_gone([[maybe_unused]] const Link& link) const { return false; }
  /// Like is_gone, but also evaluates failed connection attempts, which may have other reasons.
  virtual Presence presence([[maybe_unused]] const Link& link) const { return Presence::unknown; }
  /// True if only the link to a process detects its death; a process that waits for a peer then
  /// opens a link to it.
  virtual bool detects_death() const { return false; }
  /// Return whether the link's process has announced its orderly shutdown.
  virtual ShutdownNotice shutdown_notice([[maybe_unused]] const Link& link) const {
    return ShutdownNotice::not_expected;
  }
  /// Text for the user: why nothing more arrives over a link that is gone although its process may
  /// be alive. Else empty.
  virtual std::string_view gone_reason([[maybe_unused]] const Link& link) const { return {}; }
  /// True if packets between this process and the link's process were lost although both live. The
  /// link is gone then, and a message awaited from any source may be among the lost ones. False if
  /// unknown.
  virtual bool has_lost_packets([[maybe_unused]] const Link& link) const { return false; }
  /// True if any link has lost packets, including links that were not opened here because their
  /// process only sent to this one.
  virtual bool any_lost_packets() const { return false; }
  /// Start a check whether sent packets have arrived; called after a long wait. Later polls process
  /// the responses. A loss makes its link gone.
  virtual void probe_losses() {}

  /// True if everything passed to try_send has left this process for good, so that closing loses
  /// nothing. Requires polling, and may require the peers to poll or to have closed.
  virtual bool is_flushed() const = 0;

  /// True if another process can wake sleep(). If not, the wait loop sleeps for short times only.
  virtual bool can_sleep() const = 0;
  /// Final check by the sleeping thread, once it is announced as a sleeper; true if it must not
  /// sleep.
  using LastCheck = std::function<bool()>;
  /// Sleep until a packet may have arrived or a descriptor is readable, for at most `nanoseconds`.
  /// Called without the owner's lock. A transport whose sleeper can be woken calls `last_check`
  /// once the sleeper is announced, and does not sleep if it returns true. `descriptors` are of
  /// other transports; there are none unless may_wait_for_descriptors().
  virtual void sleep(std::int64_t nanoseconds, const LastCheck& last_check,
                     std::span<const int> descriptors) = 0;
  /// True if sleep() accepts descriptors; allocates the resources for that.
  virtual bool may_wait_for_descriptors() { return false; }
  /// File descriptor that becomes readable when poll() may have work; -1 if there is none.
  virtual int descriptor() const { return -1; }

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

  virtual Reach reach() const { return Reach::node; }
};

}  // namespace shim::transport
