// SPDX-License-Identifier: BSD-3-Clause
// Makes generalised requests whose callbacks are Fortran procedures (MPI-4.1 §13.2). Used while the
// native library is inactive.
#pragma once

#include <mpi.h>

namespace shim::intercept {

using Procedure = void();

/// Implement MPI_Grequest_start.
int start_fortran_request(Procedure* query, Procedure* free, Procedure* cancel,
                          MPI_Aint extra_state, MPI_Request* request);

/// Mark the callbacks of a request that was just started as Fortran procedures, and its extra state
/// as the address of a number. No effect on requests that are not ours.
void change_request_to_fortran(MPI_Request request);

}  // namespace shim::intercept
