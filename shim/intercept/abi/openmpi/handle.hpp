// SPDX-License-Identifier: BSD-3-Clause
// Handles of ours over Open MPI, whose own are addresses: addresses inside one reserved range that nobody can read, write or allocate.
//
//   offset from the start of the range:   33        14 13      7 6    3 2 0
//                                         +-----------+---------+------+---+
//                                         |   slot    |  gener. | kind | 0 |
//                                         +-----------+---------+------+---+
//
// The slot is on top, so that a range made smaller by an address-space limit has fewer slots and the same layout.
#pragma once

#include <mpi.h>

#include <atomic>

#include "shim/base/result.hpp"
#include "shim/intercept/abi/kind.hpp"

namespace shim::intercept::abi {

inline constexpr int kAlignBits = 3, kKindBits = 4, kGenerationBits = 7, kSlotBits = 20;
inline constexpr int kSlotShift = kAlignBits + kKindBits + kGenerationBits;
inline constexpr Bits kFullRange = Bits{1} << (kSlotBits + kSlotShift);  ///< 16 GiB of addresses, no memory

inline Bits bits(const void* handle) noexcept { return reinterpret_cast<Bits>(handle); }
template <class H>
H from_bits(Bits value) noexcept { return reinterpret_cast<H>(value); }
inline Bits bits_behind(const void* handle) noexcept { return bits(*static_cast<void* const*>(handle)); }

/// The range. Empty until the first object of ours is made: then nothing is ours.
struct HandleRange {
  std::atomic<Bits> base{0};
  std::atomic<Bits> bytes{0};
};
extern constinit HandleRange handle_range;

inline bool is_ours_bits(Bits handle) noexcept {
  // acquire: pairs with the release in reserve_handles(), so that whoever sees the size sees the base
  Bits bytes = handle_range.bytes.load(std::memory_order_acquire);
  return handle - handle_range.base.load(std::memory_order_relaxed) < bytes;
}

inline Handle decode(Bits handle) noexcept {
  Bits offset = handle - handle_range.base.load(std::memory_order_relaxed);
  return {static_cast<Kind>(offset >> kAlignBits & ((1u << kKindBits) - 1)), static_cast<std::uint32_t>(offset >> kSlotShift),
          static_cast<std::uint32_t>(offset >> (kAlignBits + kKindBits) & ((1u << kGenerationBits) - 1))};
}

/// The range must be reserved and the slot inside it.
inline Bits encode(Handle handle) noexcept {
  Bits offset = Bits{handle.slot} << kSlotShift | Bits{handle.generation} << (kAlignBits + kKindBits) |
                Bits{static_cast<std::uint8_t>(handle.kind)} << kAlignBits;
  return handle_range.base.load(std::memory_order_relaxed) + offset;
}

/// Slots that fit the range; 0 before it is reserved.
inline std::uint32_t slot_limit() noexcept {
  return static_cast<std::uint32_t>(handle_range.bytes.load(std::memory_order_acquire) >> kSlotShift);
}

/// Reserves the range at the first call; any thread, any number of times. It is never given back, so that a stale handle
/// stays recognisable. Where the address space is limited (RLIMIT_AS) it takes at most a sixteenth of the limit.
/// Errors: no_mem (names the limit).
base::Status reserve_handles();

// Fortran's integers for handles of ours are negative ones below -1, which Open MPI, counting from 0, never issues:
//
//   -(2 + payload), payload:   30    27 26       20 19         0
//                              +-------+-----------+-----------+
//                              | kind  | generation|   slot    |
//                              +-------+-----------+-----------+
inline constexpr int kFintKindShift = kSlotBits + kGenerationBits;
static_assert((std::uint64_t{kKinds} << kFintKindShift) <= 0x7ffffffdu, "fits a Fortran integer");

constexpr bool is_ours_as_fint(MPI_Fint handle) noexcept { return handle < -1; }

inline MPI_Fint to_fint(Bits handle) noexcept {
  const Handle fields = decode(handle);
  const auto payload = static_cast<std::uint32_t>(fields.kind) << kFintKindShift | fields.generation << kSlotBits | fields.slot;
  return -static_cast<MPI_Fint>(payload) - 2;
}

inline Handle from_fint(MPI_Fint integer) noexcept {
  const auto payload = static_cast<std::uint32_t>(-(integer + 2));
  return {static_cast<Kind>(payload >> kFintKindShift), payload & ((1u << kSlotBits) - 1),
          payload >> kSlotBits & ((1u << kGenerationBits) - 1)};
}

inline constexpr MPI_Fint kNullSessionFint = 0;  ///< Open MPI 5's
inline constexpr MPI_Fint kErrorsAbortFint = -1;  ///< none: 4.1 has no such handler

}  // namespace shim::intercept::abi
