// SPDX-License-Identifier: BSD-3-Clause
// Encodes Intersession's handles over Open MPI as addresses of the upper half. 64-bit kernels
// reserve that half on every processor, so no handle of Open MPI (an address) has the highest bit
// set, and dereferencing a handle of Intersession faults at that address.
//
//   63                              34 33        14 13      7 6    3 2 0
//   +---------------------------------+-----------+---------+------+---+
//   | kBase                           |   slot    |  gener. | kind | 0 |
//   +---------------------------------+-----------+---------+------+---+
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/intercept/abi/kind.hpp"

namespace shim::intercept::abi {

inline constexpr int kAlignBits = 3, kKindBits = 4, kGenerationBits = 7, kSlotBits = 20;
inline constexpr int kGenerationShift = kAlignBits + kKindBits,
                     kSlotShift = kGenerationShift + kGenerationBits;
/// Sign-extended from bit 47, as processors require of addresses: a noncanonical address would
/// fault without a fault address.
inline constexpr Bits kBase = 0xffff'85e4'0000'0000;
static_assert(sizeof(Bits) == 8 && kBase % (Bits{1} << (kSlotBits + kSlotShift)) == 0);

inline Bits bits(const void* handle) noexcept { return reinterpret_cast<Bits>(handle); }
template <class H>
H from_bits(Bits value) noexcept {
  return reinterpret_cast<H>(value);
}
inline Bits bits_behind(const void* handle) noexcept {
  return bits(*static_cast<void* const*>(handle));
}

inline bool is_ours_bits(Bits handle) noexcept { return static_cast<std::intptr_t>(handle) < 0; }

inline Handle decode(Bits handle) noexcept {
  return {static_cast<HandleKind>(handle >> kAlignBits & ((1u << kKindBits) - 1)),
          static_cast<std::uint32_t>(handle >> kSlotShift) & ((1u << kSlotBits) - 1),
          static_cast<std::uint32_t>(handle >> kGenerationShift) & ((1u << kGenerationBits) - 1)};
}

inline Bits encode(Handle handle) noexcept {
  return kBase | Bits{handle.slot} << kSlotShift | Bits{handle.generation} << kGenerationShift |
         Bits{static_cast<std::uint8_t>(handle.kind)} << kAlignBits;
}

inline Bits with_next_generation(Bits handle) noexcept {
  constexpr Bits kOne = Bits{1} << kGenerationShift,
                 kAll = ((Bits{1} << kGenerationBits) - 1) * kOne;
  return (handle & ~kAll) | ((handle + kOne) & kAll);
}

// Intersession's handles as Fortran integers are below -1; Open MPI counts from 0 and never issues
// them:
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
  const auto payload = static_cast<std::uint32_t>(fields.kind) << kFintKindShift |
                       fields.generation << kSlotBits | fields.slot;
  return -static_cast<MPI_Fint>(payload) - 2;
}

inline Handle from_fint(MPI_Fint integer) noexcept {
  const auto payload = static_cast<std::uint32_t>(-(integer + 2));
  return {static_cast<HandleKind>(payload >> kFintKindShift), payload & ((1u << kSlotBits) - 1),
          payload >> kSlotBits & ((1u << kGenerationBits) - 1)};
}

inline constexpr MPI_Fint kNullSessionFint = 0;   ///< Open MPI 5's value
inline constexpr MPI_Fint kErrorsAbortFint = -1;  ///< no handle: 4.1 lacks it

}  // namespace shim::intercept::abi
