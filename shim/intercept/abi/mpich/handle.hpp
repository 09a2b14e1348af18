// SPDX-License-Identifier: BSD-3-Clause
// Encodes Intersession's handles over MPICH. The two highest bits of an MPICH handle are its sort;
// sort 00 is null handles, whose 26 lower bits are 0. Intersession's handles have sort 00 and
// nonzero lower bits:
//
//   31 30 29    26 25 24         18 17         0
//   +----+--------+--+-------------+------------+
//   | 00 |  kind  |1 | generation  |    slot    |
//   +----+--------+--+-------------+------------+
//
// MPI_File is an address in MPICH: Intersession's have the highest bit set, which no user-space
// address has (64-bit Linux, all processors).
#pragma once

#include <mpi.h>

#include <cstring>
#include <type_traits>

#include "shim/intercept/abi/kind.hpp"

namespace shim::intercept::abi {

inline constexpr int kSlotBits = 18, kGenerationBits = 7;
inline constexpr Bits kOurs = Bits{1} << 25, kNotOurs = ~Bits{0} << 30, kFileBit = Bits{1} << 63;
inline constexpr int kKindShift = 26;
static_assert(kSlotBits + kGenerationBits == 25 && kKinds <= 16);

inline constexpr Bits bits(int handle) noexcept { return static_cast<std::uint32_t>(handle); }
inline Bits bits(MPI_File handle) noexcept { return reinterpret_cast<Bits>(handle) ^ kFileBit; }
template <class H>
H from_bits(Bits value) noexcept {
  if constexpr (std::is_pointer_v<H>)
    return reinterpret_cast<H>(value ^ kFileBit);
  else
    return static_cast<H>(value);
}
/// A tool never passes an MPI_File of Intersession, so the handle is an int.
inline Bits bits_behind(const void* handle) noexcept {
  int value = 0;
  std::memcpy(&value, handle, sizeof value);
  return bits(value);
}

inline bool is_ours_bits(Bits handle) noexcept { return (handle & (kNotOurs | kOurs)) == kOurs; }

inline Handle decode(Bits handle) noexcept {
  return {static_cast<HandleKind>(handle >> kKindShift & 0xf),
          static_cast<std::uint32_t>(handle) & ((1u << kSlotBits) - 1),
          static_cast<std::uint32_t>(handle >> kSlotBits) & ((1u << kGenerationBits) - 1)};
}

inline Bits encode(Handle handle) noexcept {
  return Bits{static_cast<std::uint8_t>(handle.kind)} << kKindShift | kOurs |
         Bits{handle.generation} << kSlotBits | handle.slot;
}

inline Bits with_next_generation(Bits handle) noexcept {
  constexpr Bits kOne = Bits{1} << kSlotBits, kAll = ((Bits{1} << kGenerationBits) - 1) * kOne;
  return (handle & ~kAll) | ((handle + kOne) & kAll);
}

// Fortran integers equal the C handles.
constexpr bool is_ours_as_fint(MPI_Fint handle) noexcept {
  return (bits(handle) & (kNotOurs | kOurs)) == kOurs;
}
inline MPI_Fint to_fint(Bits handle) noexcept { return static_cast<MPI_Fint>(handle); }
inline Handle from_fint(MPI_Fint integer) noexcept { return decode(bits(integer)); }
inline constexpr MPI_Fint kNullSessionFint = MPI_SESSION_NULL;
inline constexpr MPI_Fint kErrorsAbortFint = MPI_ERRORS_ABORT;

}  // namespace shim::intercept::abi
