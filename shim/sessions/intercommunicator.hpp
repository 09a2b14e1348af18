// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators: how they come to be and how they end as one group (MPI-4.1 §7.6.2). The object is Communicator.
#pragma once

#include <string>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {

/// What the leader of a group knows of the other: by whom, and with which tag, the two leaders find each other.
struct Bridge {
  CommunicatorPtr peer;
  int remote_leader = 0;  ///< rank in peer
  int tag = 0;
};
/// MPI_Intercomm_create: collective over `local` and the other group's communicator. `bridge` counts at the local leader alone;
/// an error there is told to all members. Errors: comm (the groups have a process in common), rank, and those of
/// create_from_group.
base::Result<CommunicatorPtr> intercomm_create(const CommunicatorPtr& local, int local_leader, base::Result<Bridge> bridge);

/// MPI_Intercomm_create_from_groups: collective over both groups and nobody else. The remote group counts at the local leader
/// alone; an error there is told to all members of the local group. Errors: group (the caller is not in the local group, a
/// process in both), and those of create_from_group.
base::Result<CommunicatorPtr> intercomm_create_from_groups(const SessionPtr& session, const GroupPtr& local, int local_leader,
                                                           base::Result<GroupPtr> remote, const std::string& tag,
                                                           InfoPtr info, ErrorHandlerPtr handler);

/// MPI_Intercomm_merge: collective over both groups. The group that gives `high` follows the other; where both give the same,
/// the one with the lowest process is first. Errors: arg (members of one group differ).
base::Result<CommunicatorPtr> merge(const CommunicatorPtr& inter, bool high);

}  // namespace shim::sessions
