// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes info objects of either library.
#pragma once

#include <mpi.h>

#include <string>

#include "shim/base/result.hpp"
#include "shim/sessions/info.hpp"

namespace shim::intercept {

/// Return the contents of an object of MPI_Info_create_env (MPI-4.1 §10), from this environment:
/// equal before MPI_Init, after it and after MPI_Finalize.
sessions::InfoPtr environment_info();

/// True if the handle is an info object that the substrate made.
bool is_of_substrate(MPI_Info handle);
/// True if the handle is the substrate's and the substrate accepts it now: an MPI-4 library at any
/// time (MPI-4.1 §11.4.1), an older one between MPI_Init and MPI_Finalize.
bool is_valid_in_substrate(MPI_Info handle);

/// Copy an info argument (MPI-4.1 §10): ours, MPI_INFO_ENV, or the substrate's while it accepts it.
/// Null for MPI_INFO_NULL. Errors: info.
base::Result<sessions::InfoPtr> copy_info(MPI_Info handle);

/// Set a key of the user's object; do nothing for MPI_INFO_NULL. Errors: info, info_value.
base::Status put_into_info(MPI_Info handle, const char* key, const std::string& value);

/// Make a handle that the user frees. A null info gives an empty object.
base::Result<MPI_Info> make_info_handle(const sessions::InfoPtr& info);

}  // namespace shim::intercept
