// SPDX-License-Identifier: BSD-3-Clause
// Creates and merges intercommunicators (MPI-4.1 §7.6.2). The object is Communicator.
#pragma once

#include <string>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {

/// Arguments of a local leader: communicator, rank and tag through which the two leaders exchange
/// messages.
struct Bridge {
  CommunicatorPtr peer;
  int remote_leader = 0;  ///< rank in peer
  int tag = 0;
};
/// MPI_Intercomm_create. Collective over `local` and the other group's communicator. `bridge` is
/// significant only at the local leader, whose error all members return. Errors: comm (the groups
/// have a common process), rank, and those of create_from_group.
base::Result<CommunicatorPtr> intercomm_create(const CommunicatorPtr& local, int local_leader,
                                               base::Result<Bridge> bridge);

/// MPI_Intercomm_create_from_groups. Collective over both groups only. `remote` is significant only
/// at the local leader, whose error all members of the local group return. Errors: group (caller
/// not in the local group, or a process in both), and those of create_from_group.
base::Result<CommunicatorPtr> intercomm_create_from_groups(const SessionPtr& session,
                                                           const GroupPtr& local, int local_leader,
                                                           base::Result<GroupPtr> remote,
                                                           const std::string& tag, InfoPtr info,
                                                           ErrorHandlerPtr handler);

/// MPI_Intercomm_merge. Collective over both groups. The group with `high` comes second; if both
/// values are equal, the group with the lowest process is first. Errors: arg (members of one group
/// differ).
base::Result<CommunicatorPtr> merge(const CommunicatorPtr& inter, bool high);

}  // namespace shim::sessions
