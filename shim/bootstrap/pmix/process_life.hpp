// SPDX-License-Identifier: BSD-3-Clause
// PMIx stays initialised until the operating-system process ends.
#pragma once

#include <memory>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap::pmix {

/// The server's view of a process does not end with PMIx_Finalize, and a second beginning is not a new one: with
/// PMIx 4.2.2 under Open MPI 4.1.4 facts of the job are missing then, and MPI_Init fails (docs/measurements.md). So one
/// more PMIx_Init, which only counts, is undone when the process ends and not before; never in a child made by fork(),
/// where PMIx's threads are not. PMIx must be initialised. Null if it refuses.
std::unique_ptr<ProcessLife> keep_initialised(const Library& library);

}  // namespace shim::bootstrap::pmix
