// SPDX-License-Identifier: BSD-3-Clause
// Opens a Bootstrap without a launcher: a world of one process.
#pragma once

#include <memory>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// Return a world of one process, with a name that is unique on this machine. Local; cannot fail.
std::unique_ptr<Bootstrap> open_singleton();

}  // namespace shim::bootstrap
