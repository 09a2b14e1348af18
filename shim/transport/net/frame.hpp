// SPDX-License-Identifier: BSD-3-Clause
// What goes over a connection between two processes: frames, each a head and its bytes. Both ends run the same program image of one
// job, so numbers are in the machine's own order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/base/result.hpp"
#include "shim/transport/net/seal.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

enum class ContactFrame : std::uint32_t {
  hello = 1,      ///< the first of the caller: Hello
  welcome = 2,    ///< the called process's answer to a proof: nothing, sealed
  packet = 3,     ///< of the owner; messages come in clear, all else inside a sealed frame
  ask = 4,        ///< "what is your fabric's address?"
  fabric = 5,     ///< the answer: the address
  no_fabric = 6,  ///< the answer: the text of the error
  challenge = 7,  ///< the called process's answer to a hello: Challenge
  proof = 8,      ///< the caller's answer: its own ContactAddress, sealed with a key that only the two can know (seal.hpp)
  sealed = 9,     ///< on an open connection: SealedHead and the bytes of a frame of that kind, sealed
};

struct FrameHead {
  std::uint32_t bytes;  ///< that follow
  std::uint32_t kind;   ///< ContactFrame
};
static_assert(sizeof(FrameHead) == 8);

/// The last digit is the version of the protocol.
struct Hello {
  static constexpr std::uint64_t kKind = 0x326f6c6c65487349;  // "IsHello2"
  std::uint64_t kind;
  Nonce nonce;  ///< of this connection
};
static_assert(sizeof(Hello) == 24);

struct Challenge {
  Nonce nonce;
};
static_assert(sizeof(Challenge) == 16);

struct SealedHead {
  std::uint32_t kind;  ///< ContactFrame
};
static_assert(sizeof(SealedHead) == 4);

/// A stranger may send so much before it is turned away; others' frames are no longer than the second.
inline constexpr std::size_t kLongestHello = 256, kLongestFrame = 128 * 1024;
/// Bytes for which a whole frame always has room, and several mostly.
inline constexpr std::size_t kFrameRoom = 2 * kLongestFrame;

[[gnu::hot]] FrameHead head_of(ContactFrame kind, ConstSpan first, ConstSpan second);

/// What is to be sent: frames one after the other, of which the first bytes may have left.
class FrameQueue {
 public:
  void add(ContactFrame kind, ConstSpan first, ConstSpan second = {});
  bool is_empty() const { return sent_ == bytes_.size(); }
  std::size_t waiting() const { return bytes_.size() - sent_; }
  ConstSpan rest() const { return ConstSpan(bytes_).subspan(sent_); }
  void took(std::size_t bytes);
  void clear();

 private:
  Bytes bytes_;
  std::size_t sent_ = 0;
};

struct ReceivedFrame {
  ContactFrame kind;  ///< as it came: may be none of those above
  ConstSpan bytes;
  std::size_t placed = 0;  ///< bytes of a packet's payload that went where Sink::place said, and are not in `bytes`
  /// With its head.
  std::size_t length() const { return sizeof(FrameHead) + bytes.size(); }
};

/// The frame with which these bytes begin; nothing where it is not there as a whole. Errors: other (it claims to be longer than
/// `longest`).
[[gnu::hot]] base::Result<std::optional<ReceivedFrame>> first_frame(ConstSpan bytes, std::size_t longest);

}  // namespace shim::transport
