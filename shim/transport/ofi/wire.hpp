// SPDX-License-Identifier: BSD-3-Clause
// Wire format of frames, and the contents of an address.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Header of every frame. Numbers are in host byte order: all processes of a job must have equal
/// byte order. A frame of another byte order is dropped, because its cookie does not match.
struct Frame {
  std::uint64_t to;    ///< receiver's cookie, which authenticates the peer
  std::uint64_t from;  ///< sender's cookie
  std::uint32_t kind;  ///< FrameKind
  /// Sequence number per sender-receiver pair, from 0; ignored for provider-matched messages.
  std::uint32_t number;
};
static_assert(sizeof(Frame) == 24);

enum class FrameKind : std::uint32_t {
  packet = 1,  ///< the owner's packet follows
  /// Before the first packet: the sender's address follows, for replies.
  address = 2,
  /// Requests the number of packets seen; AckCount of packets sent follows.
  ack_request = 3,
  ack = 4,      ///< the response; AckCount follows
  fin = 5,      ///< the sender reads no more; AckCount follows
  fin_ack = 6,  ///< response to fin: its sender may close
  /// Part of a packet follows; the last part has kind packet.
  fragment = 7,
  /// Like packet, matched by the receiver's provider by its tag.
  matched = 8,
  reset_lost = 9,          ///< packets of the receiver are lost
  reset_send_failed = 10,  ///< the sender's sends to the receiver fail for good
};

/// True for frames that may be sent to a failed peer.
constexpr bool is_reset(FrameKind kind) {
  return kind == FrameKind::reset_lost || kind == FrameKind::reset_send_failed;
}

/// Number of the receiver's packets that this frame's sender has received; in an ack request,
/// number of packets that it has sent to the receiver.
struct AckCount {
  std::uint64_t packets;
};

/// An endpoint's parsed address. Serialized: OfiAddressHead, the provider's name, the result of
/// fi_getname.
struct OfiAddress {
  std::uint64_t cookie = 0;
  std::uint32_t format = 0;    ///< FI_SOCKADDR_IN and so on
  std::uint32_t matching = 0;  ///< MatchBits::number() if its provider matches, else 0
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
  /// Sum of all bytes that follow, to detect truncated or damaged addresses.
  std::uint32_t check;
  std::uint32_t matching;
  std::uint32_t zero;
};
static_assert(sizeof(OfiAddressHead) == 32);

}  // namespace shim::transport
