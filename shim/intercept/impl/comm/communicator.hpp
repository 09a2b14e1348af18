// SPDX-License-Identifier: BSD-3-Clause
// Frees the handle of a communicator.
#pragma once

#include <mpi.h>

#include "shim/base/result.hpp"

namespace shim::intercept {

/// Free a handle and what belongs to it besides attributes. Requests in progress keep the
/// communicator. Local. Errors: comm (another thread has freed it).
base::Status free_comm_handle(MPI_Comm handle);

}  // namespace shim::intercept
