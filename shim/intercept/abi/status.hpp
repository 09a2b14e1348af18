// SPDX-License-Identifier: BSD-3-Clause
// MPI_Status in the substrate's layout, so that its own MPI_Get_count reads what we wrote.
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

/// Everything but MPI_ERROR, which calls that complete one operation must leave alone (MPI-4.1 §3.2.5).
/// @param status may be MPI_STATUS_IGNORE.
inline void write_status(MPI_Status* status, const p2p::Outcome& outcome) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = to_mpi_rank(outcome.source);
  status->MPI_TAG = outcome.tag;
  set_cancelled(*status, outcome.cancelled);
  set_status_bytes(*status, outcome.bytes);
}

/// What MPI calls empty: of null and inactive requests (MPI-4.1 §3.7.3, which sets the error as well).
inline void write_empty_status(MPI_Status* status) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  write_status(status, p2p::Outcome{});
  status->MPI_ERROR = MPI_SUCCESS;
}

inline void write_status_error(MPI_Status* status, int code) noexcept {
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
}

/// A status inside the array of a call that completes several; MPI_STATUSES_IGNORE has none.
inline MPI_Status* status_at(MPI_Status* statuses, int index) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index;
}

}  // namespace shim::intercept::abi
