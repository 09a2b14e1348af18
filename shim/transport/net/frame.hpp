// SPDX-License-Identifier: BSD-3-Clause
// Frames: the format of data on a TCP connection, each a head and its bytes.
//
// The caller is the process that connects, the called process the one that accepts. Numbers are in
// host byte order: all processes of a job must have equal byte order. A hello of another byte order
// is rejected, because its length is then out of range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "shim/base/result.hpp"
#include "shim/transport/net/seal.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

enum class TcpFrameKind : std::uint32_t {
  hello = 1,           ///< first frame of the caller: Hello
  welcome = 2,         ///< called process's response to a proof: empty, sealed
  packet = 3,          ///< packet of the transport's owner: of try_send in clear, else sealed
  fabric_request = 4,  ///< requests the address of the peer's fabric
  fabric_address = 5,  ///< response: the address
  fabric_error = 6,    ///< response: text of the error
  challenge = 7,       ///< called process's response to a hello: Challenge
  /// Caller's response: its TcpAddress, sealed with a key known only to the two (seal.hpp).
  proof = 8,
  /// On an open connection: SealedHead and the bytes of a frame of that kind, sealed.
  sealed = 9,
  /// Orderly end of the sender: empty, in clear, also sent before authentication.
  shutdown = 10,
};

struct FrameHead {
  std::uint32_t bytes;  ///< that follow
  std::uint32_t kind;   ///< TcpFrameKind
};
static_assert(sizeof(FrameHead) == 8);

/// The last digit is the protocol version.
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
  std::uint32_t kind;  ///< TcpFrameKind
};
static_assert(sizeof(SealedHead) == 4);

/// Return the bytes of a struct of the handshake, or of a head.
template <typename T>
ConstSpan wire_bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// Limits of frames of unauthenticated and of authenticated peers.
inline constexpr std::size_t kMaxHelloBytes = 256, kMaxFrameBytes = 128 * 1024;
/// Scratch that holds any whole frame, and mostly several.
inline constexpr std::size_t kFrameBufferBytes = 2 * kMaxFrameBytes;

[[gnu::hot]] FrameHead head_of(TcpFrameKind kind, ConstSpan first, ConstSpan second);

/// Frames to be sent; the first bytes may have been sent already.
class FrameQueue {
 public:
  void add(TcpFrameKind kind, ConstSpan first, ConstSpan second = {});
  bool is_empty() const { return sent_ == bytes_.size(); }
  std::size_t waiting() const { return bytes_.size() - sent_; }
  ConstSpan rest() const { return ConstSpan(bytes_).subspan(sent_); }
  void consume(std::size_t bytes);
  void clear();

 private:
  Bytes bytes_;
  std::size_t sent_ = 0;
};

struct ReceivedFrame {
  TcpFrameKind kind;  ///< as received, may be invalid
  ConstSpan bytes;
  /// Bytes of a packet's payload that Sink::place stored elsewhere; not in `bytes`.
  std::size_t placed = 0;
  /// Length with the head, without placed bytes.
  std::size_t length() const { return sizeof(FrameHead) + bytes.size(); }
};

/// Return the frame at the beginning of these bytes; nullopt if it is incomplete. Errors: other
/// (longer than `longest`).
[[gnu::hot]] base::Result<std::optional<ReceivedFrame>> first_frame(ConstSpan bytes,
                                                                    std::size_t longest);

}  // namespace shim::transport
