// SPDX-License-Identifier: BSD-3-Clause
// The launch environment of a process: what the environment variables say about its launcher.
#pragma once

#include <optional>

#include "shim/bootstrap/mpirun/surroundings.hpp"
#include "shim/bootstrap/pmi1/surroundings.hpp"

namespace shim::bootstrap {

struct LaunchEnv {
  bool has_pmix = false;  ///< a PMIx server has started this process
  std::optional<mpirun::Surroundings>
      one_node;  ///< mpirun has, and all processes of the job are on this node
  pmi1::Surroundings pmi1;
};

}  // namespace shim::bootstrap
