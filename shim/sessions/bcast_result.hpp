// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts a root's value, or its error, to all members.
#pragma once

#include <cstddef>
#include <vector>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {

/// Broadcast the root's value; if the root has an error, all members return it, so none blocks.
/// Collective over the communicator. `result` is significant only at the root.
base::Result<std::vector<std::byte>> bcast_result(Communicator& comm, int root,
                                                  base::Result<std::vector<std::byte>> result);

}  // namespace shim::sessions
