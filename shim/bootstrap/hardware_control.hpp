// SPDX-License-Identifier: BSD-3-Clause
// Which process of a node finds the hardware out for all, and how far it is. In the node segment.
#pragma once

#include <atomic>
#include <cstdint>

namespace shim::bootstrap {

/// `state` is 0 (nobody has begun), kWritten (the bytes are there, for ever), or the slot of the one who finds out, plus 1.
struct alignas(64) HardwareControl {
  static constexpr std::uint32_t kNobody = 0, kWritten = 0xffff'ffff;
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> bytes;  ///< of the map; written before `state` says so
};
static_assert(sizeof(HardwareControl) == 64);

}  // namespace shim::bootstrap
