// SPDX-License-Identifier: BSD-3-Clause
// MpirunEnv is the job description in the environment of Open MPI's mpirun, on one node.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap::mpirun {

/// The number of processes that mpirun starts.
inline constexpr char kSizeVariable[] = "OMPI_COMM_WORLD_SIZE";

/// Everything that a Bootstrap needs at its start. For a job on one node, PMIx_Init would add
/// nothing and take most of the start's time and memory
/// (docs/decisions/0054-no-pmix-on-one-node.md).
struct MpirunEnv {
  Job job;
  NodeMap node_map;
  std::string folder;  ///< mpirun's directory for this job; mpirun removes it with its contents
  pid_t mpirun = 0;

  static std::optional<MpirunEnv> of_process();
  /// True if mpirun runs and its directory belongs to this user with no access for others. Must be
  /// equal in all processes of the job (backend.hpp).
  bool is_valid() const;
};

/// Returns a variable's value, or null.
using Environment = std::function<const char*(const char* name)>;

/// Return the job description, or nothing unless all variables agree on one job of one application
/// on one node, started and served by mpirun of Open MPI 3 to 4.1 (runtime ORTE). Variables that a
/// shell has passed on to another launcher do not agree. Local.
std::optional<MpirunEnv> read_mpirun_env(const Environment& environment);

}  // namespace shim::bootstrap::mpirun
