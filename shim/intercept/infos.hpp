// SPDX-License-Identifier: BSD-3-Clause
// Info objects as arguments and results, whoever made them.
#pragma once

#include <mpi.h>

#include <string>

#include "shim/base/result.hpp"
#include "shim/sessions/info.hpp"

namespace shim::intercept {

/// What MPI_INFO_ENV says (MPI-4.1 §11.2.1), from the environment of this process.
sessions::InfoPtr environment_info();

/// A copy of an info argument, as MPI takes them (MPI-4.1 §10): ours, MPI_INFO_ENV, the substrate's while it is active.
/// Null for MPI_INFO_NULL. Errors: info.
base::Result<sessions::InfoPtr> take_info(MPI_Info handle);

/// Sets a key of the user's object, whoever made it; MPI_INFO_NULL is told nothing. Errors: info, info_value.
base::Status put_into_info(MPI_Info handle, const char* key, const std::string& value);

/// A new handle for the user, who frees it. A null info gives an empty object.
base::Result<MPI_Info> hand_out_info(const sessions::InfoPtr& info);

}  // namespace shim::intercept
