// SPDX-License-Identifier: BSD-3-Clause
// Implements blocking calls of a substrate without progress callbacks by polling. Sessions make
// progress between polls.
#pragma once

#include <mpi.h>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/progress/progress_coupling.hpp"

namespace shim::intercept {

/// State of one wait.
class PollingLoop {
 public:
  /// Make progress in sessions between two polls of the substrate.
  void progress();

 private:
  unsigned rounds_ = 0;
};

/// Complete an operation that was begun. Return the code of MPI_Wait.
int wait_by_polling(MPI_Request begun, MPI_Status* status);

}  // namespace shim::intercept
