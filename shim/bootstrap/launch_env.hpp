// SPDX-License-Identifier: BSD-3-Clause
// LaunchEnv holds the environment variables that describe this process's launcher.
#pragma once

#include <optional>

#include "shim/bootstrap/mpirun/mpirun_env.hpp"
#include "shim/bootstrap/pmi1/pmi_env.hpp"

namespace shim::bootstrap {

struct LaunchEnv {
  bool has_pmix = false;  ///< a PMIx server has started this process
  /// set if mpirun has started all processes of the job on this node
  std::optional<mpirun::MpirunEnv> one_node;
  pmi1::PmiEnv pmi1;
};

}  // namespace shim::bootstrap
