// SPDX-License-Identifier: BSD-3-Clause
// MPI_Status in the substrate's layout, so that its own MPI_Get_count reads what we wrote.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/intercept/abi/codes.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::intercept::abi {

// The room p2p uses the substrate's numbers for wildcards, so that neither way needs a translation.
static_assert(p2p::kAnySource == MPI_ANY_SOURCE && p2p::kAnyTag == MPI_ANY_TAG && p2p::kProcNull == MPI_PROC_NULL);

/// Everything but MPI_ERROR, which calls that complete one operation must leave alone (MPI-4.1 §3.2.5).
/// @param status may be MPI_STATUS_IGNORE.
inline void write_status(MPI_Status* status, const p2p::Outcome& outcome) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = outcome.source;
  status->MPI_TAG = outcome.tag;
  status->_cancelled = outcome.cancelled ? 1 : 0;
  status->_ucount = outcome.bytes;
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

inline std::uint64_t status_bytes(const MPI_Status& status) noexcept { return status._ucount; }
inline void set_status_bytes(MPI_Status& status, std::uint64_t bytes) noexcept { status._ucount = bytes; }
inline bool is_cancelled(const MPI_Status& status) noexcept { return status._cancelled != 0; }
inline void set_cancelled(MPI_Status& status, bool cancelled) noexcept { status._cancelled = cancelled ? 1 : 0; }

}  // namespace shim::intercept::abi
