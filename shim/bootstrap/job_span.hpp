// SPDX-License-Identifier: BSD-3-Clause
// Does this job span nodes? Asked before the launcher has been.
#pragma once

#include <span>

namespace shim::bootstrap {

/// In which a launcher says how many processes the job has, and how many of them are on this node.
struct SizeVariables {
  const char* job;
  const char* node;
};

/// What launchers put into the environment of a process: these variables, or srun's number of nodes. False where nobody says so; the node
/// map knows better, and later.
bool environment_says_several_nodes(std::span<const SizeVariables> launchers);

}  // namespace shim::bootstrap
