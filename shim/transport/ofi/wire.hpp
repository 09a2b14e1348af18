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
  std::uint64_t cookie;  ///< the receiver's: who does not know it is a stranger
  std::uint32_t kind;    ///< FrameKind
  std::uint32_t unused;
};
static_assert(sizeof(Frame) == 16);

enum class FrameKind : std::uint32_t {
  packet = 1,  ///< the owner's packet follows
  ask = 2,     ///< Receipt, then the asker's address, follow: "tell me when you have seen all I sent before this"
  answer = 3,  ///< Receipt follows
};

/// In an ask: the asker's cookie and how many packets it has sent so far. In its answer: the answerer's cookie and that number.
struct Receipt {
  std::uint64_t cookie;
  std::uint64_t packets;
};
static_assert(sizeof(Receipt) == 16);

/// An endpoint's address taken apart. As bytes: OfiAddressHead, then the provider's name, then what fi_getname said.
struct OfiAddress {
  std::uint64_t cookie = 0;
  std::uint32_t format = 0;  ///< FI_SOCKADDR_IN and so on
  std::string provider;
  Bytes name;

  Bytes to_bytes() const;
  static std::optional<OfiAddress> from_bytes(ConstSpan bytes);
};

struct OfiAddressHead {
  static constexpr std::uint32_t kKind = 0x69666f31;  // "1ofi"
  std::uint32_t kind;
  std::uint32_t format;
  std::uint64_t cookie;
  std::uint16_t provider_bytes;
  std::uint16_t name_bytes;
  std::uint32_t check;  ///< sum of all bytes that follow, so that a cut or damaged address is told from a good one
};
static_assert(sizeof(OfiAddressHead) == 24);

}  // namespace shim::transport
