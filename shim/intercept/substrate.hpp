// SPDX-License-Identifier: BSD-3-Clause
// What the border knows of the substrate's present condition.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// INTERSESSION_NATIVE: every call goes to the library below, and nothing is ever ours. Decided at the first call that asks, for
/// good. False where the setting cannot be read: then the first session says so.
bool passes_on() noexcept;

/// Between MPI_Init and MPI_Finalize: calls go to the substrate.
bool is_active() noexcept;

/// A data symbol as the program sees it; null if there is none. Objects that an executable refers
/// to live in the executable (copy relocations), and the substrate's own references lead there too;
/// its library's own definition is then nobody's.
void* data_symbol(const char* name);

/// Resolves the substrate's predefined handles; needed before any object of ours is made. Errors: other (no substrate).
base::Status need_substrate();

/// MPI_Init may have happened without our seeing it (this library was loaded later): asks the substrate and switches tables.
/// True if it is active now.
bool notice_activity();

/// The substrate has been initialised by this thread with this thread level (MPI_THREAD_…).
void enter_active(int thread_level);
/// The substrate is about to be, and has been, finalized.
void prepare_idle();
void enter_idle();

/// May this thread call the substrate while others may be inside it? By its thread level (MPI-4.1 §11.6).
bool may_call_substrate() noexcept;

}  // namespace shim::intercept
