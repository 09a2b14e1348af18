// SPDX-License-Identifier: BSD-3-Clause
// Handles of ours: told from the substrate's by their value alone. Each substrate's header says which values, and offers
//
//   kSlotBits, kMaxSlots, kGenerations        how many objects of a kind, and how often a slot is used before a stale handle looks new
//   bits(handle), from_bits<MPI_X>(bits)      from a handle's C type and back
//   is_ours(bits)                             was this handle made by us? True also for stale ones. On the path of every call
//   decode(bits), encode(handle)              only for what is_ours; a kind beyond the enumeration equals none that is asked for
//   with_next_generation(bits)                the handle of the next object in the same slot
//   bits_behind(address)                      of a handle of any kind that a tool gives by address
//   is_ours_as_fint(f), to_fint(bits), from_fint(f), kNullSessionFint      the same as Fortran integers (MPI-4.1 §19.3.4)
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

/// Has any object of ours been made in this program? Relaxed: who has its handle has synchronised with its maker.
extern constinit std::atomic<bool> handle_was_made;
inline bool any_handle_made() noexcept { return handle_was_made.load(std::memory_order_relaxed); }

/// For handles as C knows them.
template <class H>
bool is_ours(H handle) noexcept { return is_ours_bits(bits(handle)); }

/// A handle that stands for nothing, not even for the standard's null: what a program has that never set it.
template <class H>
bool is_unset(H handle) noexcept { return handle == H{}; }

}  // namespace shim::intercept::abi
