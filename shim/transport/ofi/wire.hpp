// SPDX-License-Identifier: BSD-3-Clause
// What goes over the wire, and what an address holds.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// In front of every packet. Both ends run the same program image of one job, so numbers are in the machine's own order; ends
/// of different order do not understand each other's cookie and refuse each other.
struct Frame {
  std::uint64_t to;    ///< the receiver's cookie: who does not know it is a stranger
  std::uint64_t from;  ///< the sender's
  std::uint32_t kind;  ///< FrameKind
  std::uint32_t number;  ///< which of the frames of this sender to this receiver it is, from 0; of what the provider matches nobody looks
};
static_assert(sizeof(Frame) == 24);

enum class FrameKind : std::uint32_t {
  packet = 1,     ///< the owner's packet follows
  hello = 2,      ///< before the first packet: the sender's address follows, so that it can be answered
  ask = 3,        ///< "how many of my packets have you seen?" Receipt follows, of what has been sent
  seen = 4,       ///< the answer; Receipt follows
  bye = 5,        ///< Receipt follows: "this many of your packets I have seen, and I read no more"
  bye_heard = 6,  ///< the answer to that: who said bye may go
  part = 7,       ///< part of a packet follows, of which more comes in the frames after it, the last in one of kind packet
  matched = 8,    ///< as packet, of a message that the receiver's provider matches by its tag
  lost = 9,       ///< packets of the receiver's have not come, and will not
  mute = 10,      ///< none of the sender's go to the receiver any more
};

/// Does it go to one to whom nothing else goes any more?
constexpr bool tells_of_failure(FrameKind kind) { return kind == FrameKind::lost || kind == FrameKind::mute; }

/// How many packets the one has seen that the other has sent; in an ask, how many there are.
struct Receipt {
  std::uint64_t packets;
};

/// An endpoint's address taken apart. As bytes: OfiAddressHead, then the provider's name, then what fi_getname said.
struct OfiAddress {
  std::uint64_t cookie = 0;
  std::uint32_t format = 0;  ///< FI_SOCKADDR_IN and so on
  std::uint32_t matching = 0;  ///< MatchBits::number() where its provider matches, else 0
  std::string provider;
  Bytes name;

  Bytes to_bytes() const;
  static std::optional<OfiAddress> from_bytes(ConstSpan bytes);
};

struct OfiAddressHead {
  static constexpr std::uint32_t kKind = 0x69666f32;  // "2ofi"
  std::uint32_t kind;
  std::uint32_t format;
  std::uint64_t cookie;
  std::uint16_t provider_bytes;
  std::uint16_t name_bytes;
  std::uint32_t check;  ///< sum of all bytes that follow, so that a cut or damaged address is told from a good one
  std::uint32_t matching;
  std::uint32_t zero;
};
static_assert(sizeof(OfiAddressHead) == 32);

}  // namespace shim::transport
