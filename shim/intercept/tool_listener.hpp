// SPDX-License-Identifier: BSD-3-Clause
// Tells a tool of phases, if there is one that wants to know (phases.h).
#pragma once

#include "shim/base/phases.hpp"

namespace shim::intercept {

/// Null where no tool listens. Looks once; the listener lives as long as the program.
base::PhaseListener* tool_listener();

}  // namespace shim::intercept
