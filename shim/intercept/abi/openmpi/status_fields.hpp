// SPDX-License-Identifier: BSD-3-Clause
// Accesses the fields of Open MPI's MPI_Status that the standard does not name.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace shim::intercept::abi {

inline std::uint64_t status_bytes(const MPI_Status& status) noexcept { return status._ucount; }
inline void set_status_bytes(MPI_Status& status, std::uint64_t bytes) noexcept {
  status._ucount = bytes;
}
inline bool is_cancelled(const MPI_Status& status) noexcept { return status._cancelled != 0; }
inline void set_cancelled(MPI_Status& status, bool cancelled) noexcept {
  status._cancelled = cancelled ? 1 : 0;
}

}  // namespace shim::intercept::abi
