// SPDX-License-Identifier: BSD-3-Clause
// Wire format of packets between two engines.
// Both processes run the same library on one architecture: little-endian, natural alignment, no
// padding. A packet may start at any address, so headers are copied in and out.
//
// Packets of each protocol, in order. → goes from the sender of the message to its receiver, ← from
// the receiver to the sender:
//
// Message of up to eager_limit bytes   eager → (eager_numbered → if it may be cancelled,
//                                      eager_short → for most of up to 8 bytes)
// the same, synchronous                eager_synchronous →, ← finished
// Longer, memory readable              ready_to_send →, [receiver reads], ← finished
//                                      (over a fabric: with the key of its registration)
// Much longer, memory readable         ready_to_send →, ← share, [receiver reads, sender writes],
//                                      ← finished
// Longer, memory not readable          ready_to_send →, ← clear_to_send, data →, data →, …
// Cancelled by its sender              cancel →, ← cancelled if it was not matched; if it was,
//                                      ← finished for eager_numbered, nothing for the others
// Too many unexpected messages         ← throttle (from now on the sender announces all messages,
//                                      whatever their length), ← unthrottle
// Outside all communicators            control →, control →, …
// To the members of a communicator     collectives_failed →, once; call_after_refusal →
// Announced or synchronous message for a communicator that its receiver has revoked or freed
//                                      ← refused
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "shim/base/ids.hpp"
#include "shim/base/older_compilers.hpp"
#include "shim/transport/transport.hpp"

namespace shim::p2p::wire {

enum class PacketType : std::uint8_t {
  eager = 1,
  eager_synchronous,
  ready_to_send,
  clear_to_send,
  data,
  finished,
  control,
  cancel,
  cancelled,
  eager_numbered,
  share,
  throttle,
  unthrottle,
  eager_short,
  collectives_failed,
  call_after_refusal,
  refused,
};

/// A process in 24 bits: its rank in the job's world plus one; 0 if it has no number.
struct SenderNumber {
  std::uint32_t number = 0;

  static SenderNumber of(base::ProcessId process) {
    return {process.world == 0 && process.rank < (1u << 24) - 1 ? process.rank + 1 : 0};
  }
  std::optional<base::ProcessId> process() const {
    return number == 0 ? std::nullopt : std::optional(base::ProcessId{0, number - 1});
  }
};

/// Header of a whole message in one packet; the payload follows.
struct Eager {
  PacketType kind = PacketType::eager;
  /// Origin of the sender; valid even if the communicator does not exist here yet
  std::uint8_t origin[3] = {};
  std::int32_t source = 0;  ///< sender's rank in the communicator
  /// receiver's id of the communicator; bit 0 is the plane (base/context_id.hpp)
  std::uint64_t context = 0;
  std::int32_t tag = 0;
  std::uint32_t bytes = 0;  ///< length of the payload

  /// Return the header, assembled in whole words so that word loads of it do not stall
  /// (base/copy.hpp). words_of() is for callers that send it at once.
  static Eager of(PacketType kind, SenderNumber from, std::int32_t source, std::uint64_t context,
                  std::int32_t tag, std::uint32_t bytes) {
    return base::bit_cast<Eager>(words_of(kind, from, source, context, tag, bytes));
  }
  static std::array<std::uint64_t, 3> words_of(PacketType kind, SenderNumber from,
                                               std::int32_t source, std::uint64_t context,
                                               std::int32_t tag, std::uint32_t bytes) {
    return {static_cast<std::uint8_t>(kind) | from.number << 8 | word(source), context,
            static_cast<std::uint32_t>(tag) | word(bytes)};
  }
  SenderNumber from() const {
    return {origin[0] | std::uint32_t{origin[1]} << 8 | std::uint32_t{origin[2]} << 16};
  }

 private:
  template <typename Half>
  static std::uint64_t word(Half upper) {
    return std::uint64_t{static_cast<std::uint32_t>(upper)} << 32;
  }
};
static_assert(sizeof(Eager) == 24);

/// Eager with a number: the message is synchronous (MPI_Ssend) or may be cancelled.
struct NumberedEager {
  Eager message;  ///< kind is eager_synchronous or eager_numbered
  /// eager_synchronous: sender's id of its operation, for `finished`; else for `cancel` only
  std::uint64_t number = 0;

  static std::array<std::uint64_t, 4> words_of(PacketType kind, SenderNumber from,
                                               std::int32_t source, std::uint64_t context,
                                               std::int32_t tag, std::uint32_t bytes,
                                               std::uint64_t number) {
    const auto message = Eager::words_of(kind, from, source, context, tag, bytes);
    return {message[0], message[1], message[2], number};
  }
};
static_assert(sizeof(NumberedEager) == 32);

/// Short form of Eager, or of NumberedEager of kind eager_numbered, for payloads of up to 8 bytes.
/// Its 20 bytes, the payload and the 4 bytes of a shared-memory ring fill half a cache line. The
/// payload is the rest of the packet.
struct ShortEager {
  static constexpr std::size_t kBytes = 20, kMaxPayload = 8;

  /// padding: aligns the words as in the ring, whose own 4 bytes come first
  std::uint32_t not_sent = 0;
  std::uint32_t first = 0;   ///< kind and 24 bits of Origin
  std::uint64_t middle = 0;  ///< 16 bits of the context's path, 16 of its base, 32 of the tag
  std::uint64_t last = 0;    ///< 16 bits of the source's rank, 48 of the number (0: none)

  /// True if the payload is short and the values fit their fields. Nearly all message numbers fit,
  /// because a process counts its messages one by one.
  static bool suits(std::int32_t source, std::uint64_t context, std::uint64_t number,
                    std::uint64_t bytes) {
    return bytes <= kMaxPayload && source <= 0xffff && (context & ~kContextBits) == 0 &&
           number >> 48 == 0;
  }
  static ShortEager of(SenderNumber from, std::int32_t source, std::uint64_t context,
                       std::int32_t tag, std::uint64_t number) {
    return {0, static_cast<std::uint32_t>(PacketType::eager_short) | from.number << 8,
            static_cast<std::uint32_t>(context | context >> 16) |
                std::uint64_t{static_cast<std::uint32_t>(tag)} << 32,
            static_cast<std::uint16_t>(source) | number << 16};
  }

 private:
  static constexpr std::uint64_t kContextBits = 0x0000'ffff'0000'ffff;
};
static_assert(sizeof(ShortEager) == sizeof(ShortEager::not_sent) + ShortEager::kBytes);

/// Announces a message whose bytes stay with the sender for now.
struct ReadyToSend {
  Eager message;              ///< `bytes` in it is zero
  std::uint64_t number = 0;   ///< sender's id of its operation, for `finished` and `clear_to_send`
  std::uint64_t bytes = 0;    ///< length of the message
  std::uint64_t address = 0;  ///< sender's memory to read the bytes from; 0: not readable
  std::uint64_t key = 0;      ///< registration key of that memory (transport::RemoteMemory)
};
static_assert(sizeof(ReadyToSend) == 56);

/// Requests the bytes of an announced message that the receiver cannot read itself.
struct ClearToSend {
  PacketType kind = PacketType::clear_to_send;
  std::uint8_t zero[7] = {};
  std::uint64_t send = 0;     ///< sender's id: `number` of the announcement
  std::uint64_t receive = 0;  ///< receiver's id, for `data`
  std::uint64_t offset = 0;   ///< first byte wanted
  /// number of bytes; fewer than announced if the receive buffer is shorter
  std::uint64_t bytes = 0;
};
static_assert(sizeof(ClearToSend) == 40);

/// Permits the sender to write parts of a long message while the receiver reads other parts
/// (transport/cooperative_copy.hpp).
struct Share {
  PacketType kind = PacketType::share;
  std::uint8_t zero[3] = {};
  std::uint32_t generation = 0;  ///< generation of the shared copy (CooperativeCopy::open)
  std::uint64_t send = 0;        ///< sender's id: `number` of the announcement
  std::uint64_t address = 0;     ///< receive buffer in the receiver's memory
  std::uint64_t bytes = 0;       ///< number of bytes wanted
};
static_assert(sizeof(Share) == 32);

/// Part of a long message; the payload is the rest of the packet.
struct Data {
  PacketType kind = PacketType::data;
  std::uint8_t zero[7] = {};
  std::uint64_t receive = 0;  ///< receiver's id
  std::uint64_t offset = 0;   ///< offset of the payload in the message
};
static_assert(sizeof(Data) == 24);

/// The message is matched and its bytes are no longer needed.
struct Finished {
  PacketType kind = PacketType::finished;
  std::uint8_t zero[7] = {};
  std::uint64_t send = 0;  ///< sender's id
};
static_assert(sizeof(Finished) == 16);

/// The receiver dropped the message: its communicator is revoked or freed there.
struct Refused {
  PacketType kind = PacketType::refused;
  std::uint8_t zero[7] = {};
  std::uint64_t send = 0;  ///< sender's id
};
static_assert(sizeof(Refused) == 16);

/// The sender requests cancellation of a message (MPI_Cancel).
struct Cancel {
  PacketType kind = PacketType::cancel;
  PacketType message = {};  ///< kind of the message
  std::uint8_t zero[2] = {};
  std::int32_t source = 0;
  std::uint64_t context = 0;
  std::uint64_t number = 0;
  std::uint64_t send = 0;  ///< sender's id of its operation, for the answer
  /// world of the sender, which may share no communicator with this process
  std::uint32_t world = 0;
  std::uint32_t rank = 0;  ///< rank in that world
};
static_assert(sizeof(Cancel) == 40);

/// The message was not matched and never will be.
struct Cancelled {
  PacketType kind = PacketType::cancelled;
  std::uint8_t zero[7] = {};
  std::uint64_t send = 0;  ///< sender's id
};
static_assert(sizeof(Cancelled) == 16);

/// A receiver requests that messages be announced (throttle), or no longer (unthrottle).
struct Flow {
  PacketType kind = PacketType::throttle;
  std::uint8_t zero[3] = {};
  std::uint32_t world = 0;  ///< world of that receiver, which sends this packet
  std::uint32_t rank = 0;   ///< rank in that world
  std::uint32_t zero2 = 0;
};
static_assert(sizeof(Flow) == 16);

/// The sender's collectives on a communicator have failed; the receiver's fail as well, now and
/// later. Error class revoked: the communicator has been revoked.
struct CollectivesFailed {
  PacketType kind = PacketType::collectives_failed;
  /// Origin of the process whose death is the reason; 0: none, or in another world
  std::uint8_t failed[3] = {};
  std::int32_t source = 0;       ///< sender's rank in the communicator
  std::uint64_t context = 0;     ///< receiver's id of the communicator
  std::int32_t error_class = 0;  ///< a base::ErrorClass
  std::uint32_t zero = 0;

  SenderNumber failed_process() const {
    return {failed[0] | std::uint32_t{failed[1]} << 8 | std::uint32_t{failed[2]} << 16};
  }
  void set_failed_process(SenderNumber of) {
    for (int i = 0; i < 3; ++i) failed[i] = static_cast<std::uint8_t>(of.number >> 8 * i);
  }
};
static_assert(sizeof(CollectivesFailed) == 24);

/// States which collective the sender calls after it refused calls for their arguments.
struct CallAfterRefusal {
  PacketType kind = PacketType::call_after_refusal;
  std::uint8_t call = 0;  ///< collective, as numbered by CollectiveNumbers
  std::uint8_t zero[2] = {};
  std::int32_t source = 0;       ///< sender's rank in the communicator
  std::uint64_t context = 0;     ///< receiver's id of the communicator
  std::int32_t tag = 0;          ///< tag of the call's messages
  std::int32_t error_class = 0;  ///< base::ErrorClass of the last refusal
};
static_assert(sizeof(CallAfterRefusal) == 24);

/// Part of a control message; the payload follows. Parts of one message arrive in order, without
/// other control parts in between.
struct Control {
  PacketType kind = PacketType::control;
  std::uint8_t zero[3] = {};
  std::uint32_t world = 0;  ///< world of the sender
  std::uint32_t rank = 0;   ///< rank in that world
  std::uint32_t zero2 = 0;
  std::uint64_t total = 0;   ///< length of the whole message
  std::uint64_t offset = 0;  ///< offset of the payload in the message
};
static_assert(sizeof(Control) == 32);

/// Longest of all headers; a payload that fits behind it fits behind any header.
inline constexpr std::size_t kMaxHeader = sizeof(ReadyToSend);

template <typename Header>
transport::ConstSpan bytes_of(const Header& header) {
  return std::as_bytes(std::span(&header, 1));
}

inline transport::ConstSpan bytes_of(const ShortEager& header) {
  return std::as_bytes(std::span(&header, 1)).subspan(sizeof header.not_sent);
}

/// Load one word of a packet that has just been written word by word. The asm keeps compilers from
/// merging two loads into a wider one, which the processor cannot serve from two pending stores: it
/// stalls until both are complete (base/copy.hpp).
template <typename Word = std::uint64_t>
std::uint64_t word_at(transport::ConstSpan packet, std::size_t offset) {
  Word word;
  std::memcpy(&word, packet.data() + offset, sizeof word);
  asm("" : "+r"(word));
  return word;
}

/// An Eager that has just arrived, in words that stay in registers. A struct would be stored to
/// memory and loaded again while the stores are pending.
struct EagerWords {
  std::uint64_t first = 0, context = 0, last = 0;

  /// Load the words of a packet that is long enough.
  static EagerWords of(transport::ConstSpan packet) {
    return {word_at(packet, 0), word_at(packet, 8), word_at(packet, 16)};
  }
  /// Convert the words of a ShortEager with a payload of `bytes` bytes.
  static EagerWords of_short(std::uint64_t first, std::uint64_t middle, std::uint64_t last,
                             std::uint64_t bytes) {
    const PacketType kind = last >> 16 == 0 ? PacketType::eager : PacketType::eager_numbered;
    return {static_cast<std::uint8_t>(kind) | (first & 0xffff'ff00) | (last & 0xffff) << 32,
            (middle & 0xffff) | (middle & 0xffff'0000) << 16, middle >> 32 | bytes << 32};
  }
  PacketType kind() const { return static_cast<PacketType>(first & 0xff); }
  SenderNumber from() const { return {static_cast<std::uint32_t>(first) >> 8}; }
  std::int32_t source() const { return static_cast<std::int32_t>(first >> 32); }
  std::int32_t tag() const { return static_cast<std::int32_t>(last & 0xffff'ffff); }
  std::uint32_t bytes() const { return static_cast<std::uint32_t>(last >> 32); }
};

/// Return the header at the front of a packet; nothing if the packet is too short.
template <typename Header>
std::optional<Header> read(transport::ConstSpan packet) {
  if (packet.size() < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, packet.data(), sizeof(Header));
  return header;
}

}  // namespace shim::p2p::wire
