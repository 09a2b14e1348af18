// SPDX-License-Identifier: BSD-3-Clause
// Formats creations and their members for the user.
#pragma once

#include <string>

#include "shim/sessions/creation_state.hpp"

namespace shim::sessions {

class Process;

/// Return a time with three digits and its unit.
std::string seconds_text(double seconds);
std::string name_of(const Creation& creation);
/// Return the member's rank and node, and whether it has a session, as far as known.
std::string describe_member(Process& process, const Creation& creation, int rank);

}  // namespace shim::sessions
