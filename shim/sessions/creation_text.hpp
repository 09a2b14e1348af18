// SPDX-License-Identifier: BSD-3-Clause
// Formats creations and their members for the user.
#pragma once

#include <string>

#include "shim/sessions/creation_state.hpp"

namespace shim::sessions {

/// Begin of the tag of a communicator that serves a predefined one (INTERSESSION_WORLD=sessions);
/// the name of the predefined one follows.
inline constexpr std::string_view kPredefinedTag = "intersession://";
/// True for the creation of a communicator that serves a predefined one.
bool is_of_predefined_comm(const CreationKey& key);

class Process;

/// Return a time with three digits and its unit.
std::string seconds_text(double seconds);
std::string name_of(const Creation& creation);
/// Return the member's rank and node, and whether it has a session, as far as known.
std::string describe_member(Process& process, const Creation& creation, int rank);

}  // namespace shim::sessions
