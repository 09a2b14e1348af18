// SPDX-License-Identifier: BSD-3-Clause
// Selects the function table in use: tracks whether the substrate is initialised and whether
// Intersession serves the world model. Says which threads may call the substrate.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// True if INTERSESSION_NATIVE is set: all calls are forwarded and no object is ever ours. Fixed at
/// the first call. False if the setting is invalid; the first session reports it.
bool is_native_only() noexcept;

/// True if the setting asks Intersession to serve the world model (INTERSESSION_WORLD=sessions).
/// Fixed at the first call. False if the setting is invalid; MPI_Init reports it
/// (check_world_setting).
bool is_served_world_selected() noexcept;
/// Check all settings if INTERSESSION_WORLD is set. Errors: arg.
base::Status check_world_setting();
/// Serve calls on the world model by Intersession from here on. MPI_Init and the first session call
/// it.
void switch_to_served_table();
/// True once switch_to_served_table() has been called.
bool is_served_table_current() noexcept;

/// True between the substrate's MPI_Init and MPI_Finalize: calls are forwarded to it.
bool is_active() noexcept;

/// True if the substrate is active. Query it and switch tables, because MPI_Init may have run
/// before this library was loaded.
bool detect_activity();

/// Set the function that detect_activity() calls when it has found the substrate initialised by
/// other code than enter_active(). Return true if the substrate is active already; the function is
/// not called for that. A concurrent detection may be reported in both ways.
bool on_activity_detected(void (*call)());

/// Record that this thread has initialised the substrate with a thread level (MPI_THREAD_…).
void enter_active(int thread_level);
/// Record that the substrate has been finalized.
void enter_inactive();

/// True if this thread may call the substrate while other threads may be inside it, by its thread
/// level (MPI-4.1 §11.6).
bool may_call_substrate() noexcept;

}  // namespace shim::intercept
