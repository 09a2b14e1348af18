// SPDX-License-Identifier: BSD-3-Clause
// What packets look like between two engines. Both ends are the same library on the same architecture: little-endian, natural
// alignment, no padding; a packet may lie at any address, so headers are copied in and out.
//
// A message of up to eager_limit bytes:   eager →, or eager_numbered → where it may be cancelled; eager_short → for most of up to 8 bytes
//   one whose sender waits for its match: eager_synchronous →, ← finished
// A longer one, memory readable:          ready_to_send →, [receiver reads], ← finished   (over a fabric: with a key of its registration)
//   a much longer one:                    … share →  (to the sender), and both copy, [receiver reads, sender writes], ← finished
// A longer one, memory not readable:      ready_to_send →, ← clear_to_send, data →, data →, …
// Given up by its sender:                 cancel →, ← cancelled if it was not matched; if it was, an eager_numbered is ← finished,
//                                         and of the others nothing is said: they go on
// Too much has come before its receives:  ← hold_back: from here on all messages are announced, whatever their length; ← go_ahead
// Outside all communicators:              control →, control →, …
// To the members of a communicator:       collectives_failed →, once; call_after_refusal →
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "shim/base/ids.hpp"
#include "shim/transport/transport.hpp"

namespace shim::p2p::wire {

enum class Kind : std::uint8_t {
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
  hold_back,
  go_ahead,
  eager_short,
  collectives_failed,
  call_after_refusal,
};

/// A process in 24 bits: its rank in the job's own world, and one; 0 for those that this does not name.
struct Origin {
  std::uint32_t number = 0;

  static Origin of(base::ProcessId process) { return {process.world == 0 && process.rank < (1u << 24) - 1 ? process.rank + 1 : 0}; }
  std::optional<base::ProcessId> process() const {
    return number == 0 ? std::nullopt : std::optional(base::ProcessId{0, number - 1});
  }
};

/// A whole message in one packet; the payload follows.
struct Eager {
  Kind kind = Kind::eager;
  std::uint8_t origin[3] = {}; ///< an Origin: which process sends, whatever its rank in the communicator, which may not be made here yet
  std::int32_t source = 0;     ///< rank of the sender in the communicator
  std::uint64_t context = 0;   ///< the receiver's id of the communicator; bit 0 says which plane (base/context_id.hpp)
  std::int32_t tag = 0;
  std::uint32_t bytes = 0;     ///< length of the payload

  /// Made of whole words, so that it can be copied as words at once (base/copy.hpp); as words, where it is sent from where it is made.
  static Eager of(Kind kind, Origin from, std::int32_t source, std::uint64_t context, std::int32_t tag, std::uint32_t bytes) {
    return std::bit_cast<Eager>(words_of(kind, from, source, context, tag, bytes));
  }
  static std::array<std::uint64_t, 3> words_of(Kind kind, Origin from, std::int32_t source, std::uint64_t context, std::int32_t tag,
                                               std::uint32_t bytes) {
    return {static_cast<std::uint8_t>(kind) | from.number << 8 | word(source), context, static_cast<std::uint32_t>(tag) | word(bytes)};
  }
  Origin from() const { return {origin[0] | std::uint32_t{origin[1]} << 8 | std::uint32_t{origin[2]} << 16}; }

 private:
  template <typename Half>
  static std::uint64_t word(Half upper) {
    return std::uint64_t{static_cast<std::uint32_t>(upper)} << 32;
  }
};
static_assert(sizeof(Eager) == 24);

/// The same with a number: the sender wants to know when it is matched (MPI_Ssend), or may ask for it back.
struct NumberedEager {
  Eager message;               ///< its kind is eager_synchronous or eager_numbered
  std::uint64_t number = 0;    ///< of eager_synchronous: the sender's id of its operation, for `finished`; else: for `cancel` alone

  static std::array<std::uint64_t, 4> words_of(Kind kind, Origin from, std::int32_t source, std::uint64_t context, std::int32_t tag,
                                               std::uint32_t bytes, std::uint64_t number) {
    const auto message = Eager::words_of(kind, from, source, context, tag, bytes);
    return {message[0], message[1], message[2], number};
  }
};
static_assert(sizeof(NumberedEager) == 32);

/// An Eager, or a NumberedEager whose kind is eager_numbered, of up to 8 bytes and with small numbers, in 20: with the 8 bytes, and the 4 that a
/// shared-memory ring adds, it is half a cache line. The length is what is left of the packet.
struct ShortEager {
  static constexpr std::size_t kBytes = 20, kLongestPayload = 8;

  std::uint32_t not_sent = 0;  ///< so that it lies in words as it will beside the ring's own half of one
  std::uint32_t first = 0;     ///< kind, and 24 bits of an Origin
  std::uint64_t middle = 0;    ///< of the context's path and of its base 16 bits each, 32 of the tag
  std::uint64_t last = 0;      ///< 16 bits of the source's rank, 48 of the number, which is 0 where there is none

  /// Is it as short as that, and are the numbers as small? Those of a process grow one by one.
  static bool suits(std::int32_t source, std::uint64_t context, std::uint64_t number, std::uint64_t bytes) {
    return bytes <= kLongestPayload && source <= 0xffff && (context & ~kContextBits) == 0 && number >> 48 == 0;
  }
  static ShortEager of(Origin from, std::int32_t source, std::uint64_t context, std::int32_t tag, std::uint64_t number) {
    return {0, static_cast<std::uint32_t>(Kind::eager_short) | from.number << 8,
            static_cast<std::uint32_t>(context | context >> 16) | std::uint64_t{static_cast<std::uint32_t>(tag)} << 32,
            static_cast<std::uint16_t>(source) | number << 16};
  }

 private:
  static constexpr std::uint64_t kContextBits = 0x0000'ffff'0000'ffff;
};
static_assert(sizeof(ShortEager) == sizeof(ShortEager::not_sent) + ShortEager::kBytes);

/// Announces a message whose bytes stay with the sender for now.
struct ReadyToSend {
  Eager message;               ///< its `bytes` is zero
  std::uint64_t number = 0;    ///< the sender's id of its operation, for `finished` and `clear_to_send`
  std::uint64_t bytes = 0;     ///< length of the message
  std::uint64_t address = 0;   ///< where the bytes lie in the sender's memory, offered for reading; 0: they are not
  std::uint64_t key = 0;       ///< and what its transport knows that memory by (transport::RemoteMemory)
};
static_assert(sizeof(ReadyToSend) == 56);

/// The receiver's answer where it cannot read the sender's memory itself: send me these bytes.
struct ClearToSend {
  Kind kind = Kind::clear_to_send;
  std::uint8_t zero[7] = {};
  std::uint64_t send = 0;      ///< the sender's id, the announcement's `number`
  std::uint64_t receive = 0;   ///< the receiver's id, for `data`
  std::uint64_t offset = 0;    ///< first byte wanted
  std::uint64_t bytes = 0;     ///< how many; fewer than announced where the receive buffer is shorter
};
static_assert(sizeof(ClearToSend) == 40);

/// The receiver reads a long message, and the sender may write parts of it (transport/copy_board.hpp).
struct Share {
  Kind kind = Kind::share;
  std::uint8_t zero[3] = {};
  std::uint32_t turn = 0;      ///< of the board
  std::uint64_t send = 0;      ///< the sender's id, the announcement's `number`
  std::uint64_t address = 0;   ///< of the receive buffer in the receiver's memory
  std::uint64_t bytes = 0;     ///< wanted
};
static_assert(sizeof(Share) == 32);

/// Part of a long message; the payload follows, its length is what is left of the packet.
struct Data {
  Kind kind = Kind::data;
  std::uint8_t zero[7] = {};
  std::uint64_t receive = 0;   ///< the receiver's id
  std::uint64_t offset = 0;    ///< of the payload in the message
};
static_assert(sizeof(Data) == 24);

/// The message is matched and its bytes are no longer needed.
struct Finished {
  Kind kind = Kind::finished;
  std::uint8_t zero[7] = {};
  std::uint64_t send = 0;      ///< the sender's id
};
static_assert(sizeof(Finished) == 16);

/// The sender wants a message back (MPI_Cancel).
struct Cancel {
  Kind kind = Kind::cancel;
  Kind message = {};           ///< as in the message
  std::uint8_t zero[2] = {};
  std::int32_t source = 0;
  std::uint64_t context = 0;
  std::uint64_t number = 0;
  std::uint64_t send = 0;      ///< the sender's id of its operation, for the answer
  std::uint32_t world = 0;     ///< whom to answer, who may be no member of any communicator here: world …
  std::uint32_t rank = 0;      ///< … and rank in it
};
static_assert(sizeof(Cancel) == 40);

/// The message was not matched, and never will be.
struct Cancelled {
  Kind kind = Kind::cancelled;
  std::uint8_t zero[7] = {};
  std::uint64_t send = 0;      ///< the sender's id
};
static_assert(sizeof(Cancelled) == 16);

/// The receiver of messages asks for them to be announced (hold_back), or no longer (go_ahead).
struct Flow {
  Kind kind = Kind::hold_back;
  std::uint8_t zero[3] = {};
  std::uint32_t world = 0;     ///< who asks: world …
  std::uint32_t rank = 0;      ///< … and rank in it
  std::uint32_t zero2 = 0;
};
static_assert(sizeof(Flow) == 16);

/// The sender's collectives on a communicator have failed: those of the receiver fail as well, now and later.
struct CollectivesFailed {
  Kind kind = Kind::collectives_failed;
  std::uint8_t failed[3] = {};  ///< an Origin: the process whose death is the reason; 0: none, or of another world
  std::int32_t source = 0;      ///< rank of the sender in the communicator
  std::uint64_t context = 0;    ///< the receiver's id of the communicator
  std::int32_t error_class = 0; ///< a base::ErrorClass
  std::uint32_t zero = 0;

  Origin failed_process() const { return {failed[0] | std::uint32_t{failed[1]} << 8 | std::uint32_t{failed[2]} << 16}; }
  void set_failed_process(Origin of) {
    for (int i = 0; i < 3; ++i) failed[i] = static_cast<std::uint8_t>(of.number >> 8 * i);
  }
};
static_assert(sizeof(CollectivesFailed) == 24);

/// After the sender has refused calls of collectives for their arguments: what it calls in their place.
struct CallAfterRefusal {
  Kind kind = Kind::call_after_refusal;
  std::uint8_t call = 0;        ///< which collective, as CollectiveTurns numbers them
  std::uint8_t zero[2] = {};
  std::int32_t source = 0;      ///< rank of the sender in the communicator
  std::uint64_t context = 0;    ///< the receiver's id of the communicator
  std::int32_t tag = 0;         ///< of the call's messages
  std::int32_t error_class = 0; ///< of the last refusal, a base::ErrorClass
};
static_assert(sizeof(CallAfterRefusal) == 24);

/// Part of a control message; the payload follows. Parts of one message travel in order and without other control parts between.
struct Control {
  Kind kind = Kind::control;
  std::uint8_t zero[3] = {};
  std::uint32_t world = 0;     ///< who sends: world …
  std::uint32_t rank = 0;      ///< … and rank in it
  std::uint32_t zero2 = 0;
  std::uint64_t total = 0;     ///< length of the whole message
  std::uint64_t offset = 0;    ///< of the payload in the message
};
static_assert(sizeof(Control) == 32);

/// Longest header in front of a message's payload, so that what fits beside it fits beside any.
inline constexpr std::size_t kLongestHeader = sizeof(ReadyToSend);

template <typename Header>
transport::ConstSpan bytes_of(const Header& header) {
  return std::as_bytes(std::span(&header, 1));
}

inline transport::ConstSpan bytes_of(const ShortEager& header) {
  return std::as_bytes(std::span(&header, 1)).subspan(sizeof header.not_sent);
}

/// A word of a packet that has just come. By itself: compilers would read two at once, and a processor waits for those
/// (base/copy.hpp).
template <typename Word = std::uint64_t>
std::uint64_t word_at(transport::ConstSpan packet, std::size_t offset) {
  Word word;
  std::memcpy(&word, packet.data() + offset, sizeof word);
  asm("" : "+r"(word));
  return word;
}

/// An Eager that has just come, in words that stay in registers: a structure would be put into memory, and read again before it is
/// there.
struct EagerWords {
  std::uint64_t first = 0, context = 0, last = 0;

  /// The packet is long enough.
  static EagerWords of(transport::ConstSpan packet) { return {word_at(packet, 0), word_at(packet, 8), word_at(packet, 16)}; }
  /// The same of a ShortEager of so many bytes: its words.
  static EagerWords of_short(std::uint64_t first, std::uint64_t middle, std::uint64_t last, std::uint64_t bytes) {
    const Kind kind = last >> 16 == 0 ? Kind::eager : Kind::eager_numbered;
    return {static_cast<std::uint8_t>(kind) | (first & 0xffff'ff00) | (last & 0xffff) << 32,
            (middle & 0xffff) | (middle & 0xffff'0000) << 16, middle >> 32 | bytes << 32};
  }
  Kind kind() const { return static_cast<Kind>(first & 0xff); }
  Origin from() const { return {static_cast<std::uint32_t>(first) >> 8}; }
  std::int32_t source() const { return static_cast<std::int32_t>(first >> 32); }
  std::int32_t tag() const { return static_cast<std::int32_t>(last & 0xffff'ffff); }
  std::uint32_t bytes() const { return static_cast<std::uint32_t>(last >> 32); }
};

/// The header at the front of a packet; nothing where the packet is too short for it.
template <typename Header>
std::optional<Header> read(transport::ConstSpan packet) {
  if (packet.size() < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, packet.data(), sizeof(Header));
  return header;
}

}  // namespace shim::p2p::wire
