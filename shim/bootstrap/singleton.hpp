// SPDX-License-Identifier: BSD-3-Clause
// No launcher: a world of one process.
#pragma once

#include <memory>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// A world of one, with a name that no other process on this machine has. Local; cannot fail.
std::unique_ptr<Bootstrap> open_singleton();

}  // namespace shim::bootstrap
