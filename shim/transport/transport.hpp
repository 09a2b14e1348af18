// SPDX-License-Identifier: BSD-3-Clause
// The seam for moving bytes between processes. Backends: shm/ (node shared memory), ofi/ (libfabric), self/, loop/ (tests).
//
// A transport carries packets: short byte strings, each delivered once, whole, and in the order sent between the same two
// processes over the same transport. It knows nothing of MPI, ranks, tags, or what is in a packet. It takes no locks of its
// own: its owner (p2p::Engine) calls it under one lock.
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
#include "shim/transport/copy_board.hpp"

namespace shim::transport {

using Bytes = std::vector<std::byte>;
using ConstSpan = std::span<const std::byte>;

/// A way to one other process, owned by its transport; opening costs no network traffic, the first send may.
class Link {
 public:
  virtual ~Link() = default;
};

/// Where a packet's payload belongs.
struct Placement {
  std::size_t header_bytes;  ///< of the packet, which come before its payload
  std::span<std::byte> payload;
};

class Matcher;
struct MatchedReceive;

/// Where arrived packets go. The bytes are the transport's and valid during the call only.
/// A sink must not call the transport's poll, but may send.
class Sink {
 public:
  virtual ~Sink() = default;
  /// A packet of so many bytes has begun to come. Where its payload belongs, so that it need not be copied there; nothing to get it as a
  /// whole. The answer is of use until the transport returns from poll; it asks again for the rest, with at least the header. If there is
  /// no answer then, the rest is dropped.
  virtual std::optional<Placement> place([[maybe_unused]] ConstSpan beginning, [[maybe_unused]] std::size_t bytes) { return std::nullopt; }
  /// The payload of a placed packet is all there, or dropped.
  virtual void on_placed([[maybe_unused]] ConstSpan header, [[maybe_unused]] std::size_t payload_bytes) {}
  /// False: enough for now. What else has come may stay with the transport until the next poll, which need not heed this.
  virtual bool on_packet(ConstSpan packet) = 0;
  // Of receives that a transport's matcher has (matching.hpp), which are no longer with it then: the message that has come for one,
  virtual void on_matched([[maybe_unused]] MatchedReceive& receive, [[maybe_unused]] ConstSpan packet) {}
  // and one that the owner has back, because it asked for it and no message had come.
  virtual void on_withdrawn([[maybe_unused]] MatchedReceive& receive) {}
};

/// Result of an attempt that must not block.
enum class Attempt : std::uint8_t {
  done,
  again,        ///< no room now; try after polling
  unsupported,  ///< this transport or link cannot do it, or not this time; take another way
};

/// Memory of a process, for another one to read.
struct RemoteMemory {
  std::uint64_t address = 0;  ///< where its owner has it; 0: it cannot be read
  std::uint64_t key = 0;      ///< what its owner's transport knows it by
};

/// Memory of this process that another may read as long as this lives.
class Offer {
 public:
  virtual ~Offer() = default;
  virtual RemoteMemory memory() const = 0;
};

/// A read of another process's memory under way. Once it is destroyed nothing comes into our memory any more; for that it may have to
/// wait, 2 s at most.
class Read {
 public:
  virtual ~Read() = default;
  /// Sees to it that it goes on, which also takes polls of the transport; answers how many bytes have come. Not in the order of
  /// addresses: only when all are there they are of use. Errors: proc_aborted (the peer is known to be gone), other.
  virtual base::Result<std::size_t> progress() = 0;
};

/// What a transport knows of who is to be found at an address, without asking.
enum class Presence : std::uint8_t {
  unknown,
  there,
  gone,          ///< it was there and has ended, or another machine says that nobody listens there
  gone_if_near,  ///< this machine says so: of use for a process that is on it, else the address means another one there
};

/// That a sleep may be told of.
inline constexpr std::size_t kMostDescriptors = 4;

struct StreamRoom {
  std::uint64_t all = 0;       ///< bytes
  std::uint64_t for_each = 0;  ///< where all of those who are reached so are sent to at the same time
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  /// Longest packet (header and payload together) that try_send takes.
  virtual std::size_t max_packet_bytes() const = 0;
  /// Parts of long messages to this peer are best packets of this length by now: more than max_packet_bytes, where such may be sent already,
  /// or less.
  virtual std::size_t long_packet_bytes([[maybe_unused]] const Link& to) const { return max_packet_bytes(); }
  /// What this process's packets lie in until they are read, where that is larger than a core's caches. Long messages are better copied
  /// twice through such memory than read, as long as they do not go round in it.
  virtual StreamRoom stream_room() { return {}; }
  /// What another process needs to open a link to this one; opaque, at most 512 bytes.
  virtual Bytes address() const = 0;

  /// Opens a link to the process with this address. Local. The link lives as long as the transport. Errors: arg (not an
  /// address of this transport), no_space, no_mem.
  virtual base::Result<Link*> open(ConstSpan address) = 0;

  /// The link's process is about to send to us, so that a transport that wants to know it before may learn of it. Local.
  virtual void expect([[maybe_unused]] Link& link) {}

  /// Sends header and payload as one packet. The bytes may be reused on return, whatever the answer.
  /// Errors: proc_aborted (the peer is known to be gone), other.
  virtual base::Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) = 0;

  /// Room for a packet whose payload is written where it leaves from: done says where, and publish() sends it once it is written; nothing else
  /// is sent over this transport in between. unsupported: this one is to be sent with try_send. Errors: as try_send.
  virtual base::Result<Attempt> try_reserve([[maybe_unused]] Link& link, [[maybe_unused]] ConstSpan header,
                                            [[maybe_unused]] std::size_t payload_bytes, [[maybe_unused]] std::span<std::byte>& payload) {
    return Attempt::unsupported;
  }
  virtual void publish([[maybe_unused]] Link& link) {}

  /// As try_send, for packets that come before all others: what brings processes together. A transport that has a lighter way for
  /// those takes it; then they may overtake packets of try_send and be overtaken.
  virtual base::Result<Attempt> try_send_ahead(Link& link, ConstSpan header, ConstSpan payload) { return try_send(link, header, payload); }

  /// Moves things along and hands arrived packets to the sink; answers how many. Bounded work per call.
  virtual base::Result<int> poll(Sink& sink) = 0;
  /// Like poll, for one who waits for this link's process: what others have sent may stay where it is. A transport that cannot tell
  /// them apart polls everything.
  virtual base::Result<int> poll_link([[maybe_unused]] Link& link, Sink& sink) { return poll(sink); }

  /// The packet from this link's process that a poll would hand over next, where it lies: valid until it is dropped, or the next poll.
  /// Empty where none has come, and of transports that cannot leave a packet where it is.
  virtual ConstSpan front([[maybe_unused]] Link& link) { return {}; }
  /// Done with what front() has shown: no poll hands it over.
  virtual void drop_front([[maybe_unused]] Link& link, [[maybe_unused]] ConstSpan packet) {}

  /// Reads bytes straight out of the other process's memory (its address, in its address space) into ours, without its help.
  /// The owner of the memory must have offered it. unsupported where the kernel or the fabric forbids it.
  virtual base::Result<Attempt> try_read(Link& link, std::uint64_t remote_address, std::span<std::byte> into) = 0;

  /// The same into several pieces, one after the other; what comes back is of all of them.
  virtual base::Result<Attempt> try_read_pieces(Link& link, std::uint64_t remote_address, std::span<const std::span<std::byte>> into) {
    for (const std::span<std::byte> piece : into) {
      auto read = try_read(link, remote_address, piece);
      if (!read || *read != Attempt::done) return read;
      remote_address += piece.size();
    }
    return Attempt::done;
  }

  /// Does reading another process's memory take an offer of its owner's, and begin_read? Else try_read is all there is to it.
  virtual bool needs_offers() const { return false; }
  /// Lets the link's process read this memory. Null where that cannot be.
  virtual std::unique_ptr<Offer> offer([[maybe_unused]] Link& link, [[maybe_unused]] ConstSpan memory) { return nullptr; }
  /// Begins to read what the link's process has offered, as many bytes as there is room for. Null where that cannot be.
  virtual std::unique_ptr<Read> begin_read([[maybe_unused]] Link& link, [[maybe_unused]] const RemoteMemory& from,
                                           [[maybe_unused]] std::span<std::byte> into) {
    return nullptr;
  }

  /// Writes bytes into the other process's memory as try_read reads them. With nothing to write: may it be done?
  virtual base::Result<Attempt> try_write([[maybe_unused]] Link& link, [[maybe_unused]] std::uint64_t remote_address,
                                          [[maybe_unused]] ConstSpan bytes) {
    return Attempt::unsupported;
  }
  /// For long messages of the link's process to this one, and of this one to it; null where the two share no memory.
  virtual CopyBoard* copy_board_from([[maybe_unused]] Link& link) { return nullptr; }
  virtual CopyBoard* copy_board_to([[maybe_unused]] Link& link) { return nullptr; }

  /// Null where the owner has to match, and as long as that is not known.
  virtual Matcher* matcher() { return nullptr; }
  /// Is there a matcher, or may there be one later?
  virtual bool may_match() const { return false; }

  /// For the user: what may go wrong over it on this system, and what helps. Mostly empty.
  virtual std::string_view caution() const { return {}; }

  /// Has the link's process ended, or left this transport for good, and has all that it sent been handed over, or can no more of it come?
  /// What is not known is no.
  virtual bool is_gone([[maybe_unused]] const Link& link) const { return false; }
  /// The same with what has become of attempts to reach it, which may have failed for other reasons, too.
  virtual Presence presence([[maybe_unused]] const Link& link) const { return Presence::unknown; }
  /// True where the end of a process is seen by the link to it, and by nothing else: a process that waits for another opens one.
  virtual bool tells_of_death() const { return false; }
  /// For the user: why nothing more comes from a link that is gone, where its process may be alive all the same. Else empty.
  virtual std::string_view why_gone([[maybe_unused]] const Link& link) const { return {}; }
  /// Have packets of the link's process to this one, or the other way, been lost though both live? Then it is gone, and so may be a message
  /// that somebody waits for from any process. What is not known is no.
  virtual bool has_lost([[maybe_unused]] const Link& link) const { return false; }
  /// Is there such a link at all, also of a process that has only sent to this one, to which nobody has opened one?
  virtual bool has_losses() const { return false; }
  /// Somebody has waited for long: finds out whether what was sent has come. Polls bring the answers; what is lost makes its link gone.
  virtual void look_for_losses() {}

  /// Has everything given to try_send left this process for good (so that closing loses nothing)? Polling brings that about,
  /// and may need the peers to poll as well, or to have closed.
  virtual bool is_flushed() const = 0;

  /// Can others wake a sleep()? If not, the waiting loop keeps its naps short.
  virtual bool can_sleep() const = 0;
  /// Has what is waited for come without a packet, by somebody who wakes sleepers? Asked when this one is known to sleep.
  using LastLook = std::function<bool()>;
  /// Sleeps until a packet may have arrived, or one of the descriptors can be read, at most this long. Called without the owner's lock.
  /// @param descriptors of other transports; none where may_wait_for_descriptors() says no
  virtual void sleep(std::int64_t nanoseconds, const LastLook& last_look, std::span<const int> descriptors) = 0;
  /// May a sleep() be told of descriptors? What it takes is made here.
  virtual bool may_wait_for_descriptors() { return false; }
  /// Can be read when something may have come that a poll would take, for who sleeps elsewhere; -1: there is no such descriptor.
  virtual int descriptor() const { return -1; }

  struct Counts {
    std::uint64_t links_opened = 0, links_used = 0, packets_sent = 0, bytes_sent = 0, packets_received = 0, sends_again = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t addresses_inserted = 0;  ///< in a provider's address table; a provider that connects does so then
    std::uint64_t contacts_made = 0, contact_messages = 0, contact_bytes = 0, fabrics_open = 0;  ///< of net/
    std::uint64_t packets_refused = 0;  ///< from strangers, or damaged; dropped
  };
  virtual const Counts& counts() const = 0;
};

}  // namespace shim::transport
