// SPDX-License-Identifier: BSD-3-Clause
// What Open MPI's mpirun tells the processes of a job on one node without being asked.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap::mpirun {

/// All that a Bootstrap begins with, from the environment alone. PMIx_Init would add nothing to it for a job whose processes are all here,
/// and takes most of the time and the memory of a start (docs/measurements.md).
struct Surroundings {
  Job job;
  NodeMap node_map;
  std::string folder;  ///< mpirun's own for this job; it removes it with all that is in it
  pid_t mpirun = 0;

  static std::optional<Surroundings> of_process();
  /// Is mpirun there, and its folder this user's alone? Must be so of all processes of the job, or of none (backend.hpp).
  bool are_real() const;
};

/// A variable's value, or null.
using Environment = std::function<const char*(const char* name)>;

/// Nothing unless every variable agrees with the others that this is one job, of one application, on one node, that mpirun of Open MPI
/// 3 to 4.1 (its runtime ORTE) has started and serves itself: variables that a shell has handed on to another launcher do not. Local.
std::optional<Surroundings> read_surroundings(const Environment& environment);

}  // namespace shim::bootstrap::mpirun
