// SPDX-License-Identifier: BSD-3-Clause
// Converts arguments and results that are groups of either library.
#pragma once

#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {

/// Return a group argument: ours, MPI_GROUP_EMPTY, or the substrate's while that is active, read
/// through its ranks in MPI_COMM_WORLD. Only groups of ours have a session. Errors: group.
base::Result<GroupObject> get_group(MPI_Group handle);

/// Return the members of a communicator of either library. Errors: comm, group.
base::Result<sessions::GroupPtr> get_members(MPI_Comm handle);

/// Make a handle that the user frees; MPI_GROUP_EMPTY for the empty group.
base::Result<MPI_Group> make_group_handle(GroupObject object);

/// Return the group made from two others, with the session of the first that has one.
GroupObject combined(const GroupObject& a, const GroupObject& b, sessions::GroupPtr group);

}  // namespace shim::intercept
