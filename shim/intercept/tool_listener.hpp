// SPDX-License-Identifier: BSD-3-Clause
// Reports phases to a tool that defines the listener function (phases.h).
#pragma once

#include "shim/base/phases.hpp"

namespace shim::intercept {

/// Return the listener, or null without tool. Looks the tool up once; the listener is never
/// destroyed.
base::PhaseListener* tool_listener();

}  // namespace shim::intercept
