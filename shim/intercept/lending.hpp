// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a substrate that does not let us in while it waits: we poll it, and move our own messages in between.
#pragma once

#include <mpi.h>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/sharing.hpp"

namespace shim::intercept {

/// The rounds of one wait.
class Lending {
 public:
  /// Between two questions to the substrate.
  void turn();

 private:
  unsigned turns_ = 0;
};

/// Completes an operation that was begun. Answers what MPI_Wait would.
int wait_lending(MPI_Request begun, MPI_Status* status);

}  // namespace shim::intercept
