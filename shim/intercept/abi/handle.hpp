// SPDX-License-Identifier: BSD-3-Clause
// Handles of ours over Open MPI: addresses inside one reserved range that nobody can read, write or allocate.
//
//   offset from the start of the range:   34        15 14      7 6    3 2 0
//                                         +-----------+---------+------+---+
//                                         |   slot    |  gener. | kind | 0 |
//                                         +-----------+---------+------+---+
//
// The slot is on top, so that a range made smaller by an address-space limit has fewer slots and the same layout.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/base/result.hpp"

namespace shim::intercept::abi {

enum class Kind : std::uint8_t { none, comm, group, request, message, session, info, errhandler, datatype, op, win, file };
inline constexpr int kKinds = 12;

/// What a handle of ours says. The generation tells a slot's present object from those that were there before.
struct Handle {
  Kind kind = Kind::none;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  bool operator==(const Handle&) const = default;
};

inline constexpr int kAlignBits = 3, kKindBits = 4, kGenerationBits = 8, kSlotBits = 20;
inline constexpr std::uint32_t kGenerations = 1u << kGenerationBits;
inline constexpr std::uint32_t kMaxSlots = 1u << kSlotBits;
inline constexpr int kSlotShift = kAlignBits + kKindBits + kGenerationBits;
inline constexpr std::uintptr_t kFullRange = std::uintptr_t{kMaxSlots} << kSlotShift;  ///< 32 GiB of addresses, no memory

/// The range. Empty until the first object of ours is made: then nothing is ours.
struct HandleRange {
  std::atomic<std::uintptr_t> base{0};
  std::atomic<std::uintptr_t> bytes{0};
};
extern constinit HandleRange handle_range;

/// Was this handle made by us? True also for stale ones. On the path of every intercepted call.
inline bool is_ours(const void* handle) noexcept {
  // acquire: pairs with the release in reserve_handles(), so that whoever sees the size sees the base
  std::uintptr_t bytes = handle_range.bytes.load(std::memory_order_acquire);
  return reinterpret_cast<std::uintptr_t>(handle) - handle_range.base.load(std::memory_order_relaxed) < bytes;
}

/// Only for a handle that is_ours. A kind beyond the enumeration comes out as it is: it equals none that is asked for.
inline Handle decode(const void* handle) noexcept {
  std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(handle) - handle_range.base.load(std::memory_order_relaxed);
  return {static_cast<Kind>(offset >> kAlignBits & ((1u << kKindBits) - 1)), static_cast<std::uint32_t>(offset >> kSlotShift),
          static_cast<std::uint32_t>(offset >> (kAlignBits + kKindBits) & (kGenerations - 1))};
}

/// The value the user sees, cast to the handle's C type by the caller. The range must be reserved and the slot inside it.
inline void* encode(Handle handle) noexcept {
  std::uintptr_t offset = std::uintptr_t{handle.slot} << kSlotShift |
                          std::uintptr_t{handle.generation} << (kAlignBits + kKindBits) |
                          std::uintptr_t{static_cast<std::uint8_t>(handle.kind)} << kAlignBits;
  return reinterpret_cast<void*>(handle_range.base.load(std::memory_order_relaxed) + offset);
}

/// Slots that fit the range; 0 before it is reserved.
inline std::uint32_t slot_limit() noexcept {
  return static_cast<std::uint32_t>(handle_range.bytes.load(std::memory_order_acquire) >> kSlotShift);
}

/// Reserves the range at the first call; any thread, any number of times. It is never given back, so that a stale handle
/// stays recognisable. Where the address space is limited (RLIMIT_AS) it takes at most a sixteenth of the limit.
/// Errors: no_mem (names the limit).
base::Status reserve_handles();

}  // namespace shim::intercept::abi
