// SPDX-License-Identifier: BSD-3-Clause
// Writes MPI_Status in the substrate's layout, which its MPI_Get_count reads.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/intercept/abi/codes.hpp"
#include "shim/intercept/abi/ranks.hpp"
#include "shim/p2p/p2p.hpp"

#ifdef OPEN_MPI
#include "shim/intercept/abi/openmpi/status_fields.hpp"
#else
#include "shim/intercept/abi/mpich/status_fields.hpp"
#endif

namespace shim::intercept::abi {

/// Write all fields but MPI_ERROR, which calls that complete one operation must not change (MPI-4.1
/// §3.2.5).
/// @param status may be MPI_STATUS_IGNORE.
inline void write_status(MPI_Status* status, const p2p::MessageStatus& outcome) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = to_mpi_rank(outcome.source);
  status->MPI_TAG = outcome.tag;
  set_cancelled(*status, outcome.cancelled);
  set_status_bytes(*status, outcome.bytes);
}

/// Write the empty status of null and inactive requests (MPI-4.1 §3.7.3, which sets the error,
/// too).
inline void write_empty_status(MPI_Status* status) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  write_status(status, p2p::MessageStatus{});
  status->MPI_ERROR = MPI_SUCCESS;
}

inline void write_status_error(MPI_Status* status, int code) noexcept {
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
}

/// Return the status at an index of the array of a multiple completion, or MPI_STATUS_IGNORE for
/// MPI_STATUSES_IGNORE.
inline MPI_Status* status_at(MPI_Status* statuses, int index) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index;
}

}  // namespace shim::intercept::abi
