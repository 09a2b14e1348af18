// SPDX-License-Identifier: BSD-3-Clause
// Tracks the present state of the substrate.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// True if INTERSESSION_NATIVE is set: all calls are forwarded and no object is ever ours. Fixed at
/// the first call. False if the setting is invalid; the first session reports it.
bool is_native_only() noexcept;

/// True between MPI_Init and MPI_Finalize: calls are forwarded to the substrate.
bool is_active() noexcept;

/// Return the address of a data symbol as the program sees it; null if there is none. Objects that
/// an executable refers to live in the executable (copy relocations), and the substrate uses those
/// copies, too; its library's own definition is then unused.
void* data_symbol(const char* name);

/// Resolve the substrate's predefined handles; required before any object of ours is made. Errors:
/// other (no substrate).
base::Status require_substrate();

/// True if the substrate is active. Query it and switch tables, because MPI_Init may have run
/// before this library was loaded.
bool detect_activity();

/// Record that this thread has initialised the substrate with a thread level (MPI_THREAD_…).
void enter_active(int thread_level);
/// Record that the substrate is about to be finalized, and that it has been.
void prepare_inactive();
void enter_inactive();

/// True if this thread may call the substrate while other threads may be inside it, by its thread
/// level (MPI-4.1 §11.6).
bool may_call_substrate() noexcept;

}  // namespace shim::intercept
