// SPDX-License-Identifier: BSD-3-Clause
// One member finds something out for all: what it found, or why it could not, reaches everybody alike.
#pragma once

#include <cstddef>
#include <vector>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {

/// Collective over the communicator: what the root has found, at everybody; its error where it found none, so that nobody is
/// left waiting. `found` counts at the root alone.
base::Result<std::vector<std::byte>> tell_all(Communicator& comm, int root, base::Result<std::vector<std::byte>> found);

}  // namespace shim::sessions
