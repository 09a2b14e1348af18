// SPDX-License-Identifier: BSD-3-Clause
// What goes over a connection between two processes: frames, each a head and its bytes. Both ends run the same program image of one
// job, so numbers are in the machine's own order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shim::transport {

enum class ContactFrame : std::uint32_t {
  hello = 1,      ///< the first of whoever has called; Hello, then the caller's own ContactAddress
  welcome = 2,    ///< the first of whoever was called: it is the one that was meant
  packet = 3,     ///< of the owner
  ask = 4,        ///< "what is your fabric's address?"
  fabric = 5,     ///< the answer: the address
  no_fabric = 6,  ///< the answer: the text of the error
};

struct FrameHead {
  std::uint32_t bytes;  ///< that follow
  std::uint32_t kind;   ///< ContactFrame
};
static_assert(sizeof(FrameHead) == 8);

struct Hello {
  static constexpr std::uint64_t kKind = 0x316f6c6c65487349;  // "IsHello1"
  std::uint64_t kind;
  std::uint64_t to;  ///< the cookie of whoever is meant
};
static_assert(sizeof(Hello) == 16);

/// A stranger may send so much before it is turned away; others' frames are no longer than the second.
inline constexpr std::size_t kLongestHello = 256, kLongestFrame = 256 * 1024;

}  // namespace shim::transport
