// SPDX-License-Identifier: BSD-3-Clause
// Moves addresses between the table of a creation and this process's records.
#pragma once

#include "shim/sessions/creation_state.hpp"
#include "shim/sessions/member_table.hpp"

namespace shim::sessions {

class Process;

/// Record the addresses and incarnations of the other members in the table.
void record_addresses(Process& process, const Creation& creation, const MemberTable& entries);
/// Return the table for local members, without addresses that the node's table has.
MemberTable for_local_node(const Process& process, const Creation& creation,
                           const MemberTable& entries);

}  // namespace shim::sessions
