// SPDX-License-Identifier: BSD-3-Clause
// Accesses the fields of MPICH's MPI_Status that the standard does not name. They hold a 63-bit
// count; the lowest bit of the upper half is set if the operation was cancelled.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace shim::intercept::abi {

inline std::uint64_t status_bytes(const MPI_Status& status) noexcept {
  const auto high = static_cast<std::uint32_t>(status.count_hi_and_cancelled) >> 1;
  return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(status.count_lo);
}
inline void set_status_bytes(MPI_Status& status, std::uint64_t bytes) noexcept {
  const auto cancelled = static_cast<std::uint32_t>(status.count_hi_and_cancelled) & 1;
  status.count_lo = static_cast<int>(static_cast<std::uint32_t>(bytes));
  status.count_hi_and_cancelled = static_cast<int>(static_cast<std::uint32_t>(bytes >> 32) << 1 |
                                                   cancelled);
}
inline bool is_cancelled(const MPI_Status& status) noexcept {
  return (status.count_hi_and_cancelled & 1) != 0;
}
inline void set_cancelled(MPI_Status& status, bool cancelled) noexcept {
  const auto count = static_cast<std::uint32_t>(status.count_hi_and_cancelled) & ~1u;
  status.count_hi_and_cancelled = static_cast<int>(count | (cancelled ? 1u : 0u));
}

}  // namespace shim::intercept::abi
