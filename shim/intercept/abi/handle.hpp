// SPDX-License-Identifier: BSD-3-Clause
// Encodes Intersession's handles, whose values no handle of the substrate has. The header of each
// substrate defines the values and provides
//
//   kSlotBits, kMaxSlots, kGenerations    objects of a kind; uses of a slot before a stale handle
//                                         equals a new one
//   bits(handle), from_bits<MPI_X>(bits)  conversion from a handle's C type and back
//   is_ours(bits)                         true if Intersession made the handle, even if it is
//                                         stale; on the path of every call
//   decode(bits), encode(handle)          only if is_ours; a kind beyond the enumeration equals
//                                         no kind that a caller expects
//   with_next_generation(bits)            handle of the next object in this slot
//   bits_behind(address)                  bits of a handle of any kind that a tool passes by
//   address
//   is_ours_as_fint(f), to_fint(bits), from_fint(f), kNullSessionFint
//                                         the conversions for Fortran integers (MPI-4.1 §19.3.4)
#pragma once

#include <mpi.h>

#include <atomic>

#include "shim/intercept/abi/kind.hpp"

#ifdef OPEN_MPI
#include "shim/intercept/abi/openmpi/handle.hpp"
#else
#include "shim/intercept/abi/mpich/handle.hpp"
#endif

namespace shim::intercept::abi {

inline constexpr std::uint32_t kGenerations = 1u << kGenerationBits;
inline constexpr std::uint32_t kMaxSlots = 1u << kSlotBits;

/// True once this program has made an object of Intersession. Relaxed: a thread that holds a handle
/// has synchronised with the thread that made it.
extern constinit std::atomic<bool> handle_was_made;
inline bool any_handle_made() noexcept { return handle_was_made.load(std::memory_order_relaxed); }

/// For handles in their C types.
template <class H>
bool is_ours(H handle) noexcept {
  return is_ours_bits(bits(handle));
}

/// True if the handle is zero, which no object and no null handle of the standard has: a variable
/// that the program never set.
template <class H>
bool is_unset(H handle) noexcept {
  return handle == H{};
}

}  // namespace shim::intercept::abi
