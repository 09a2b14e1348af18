// SPDX-License-Identifier: BSD-3-Clause
// Groups as arguments and results, whoever made them.
#pragma once

#include "shim/intercept/bodies/arguments.hpp"

namespace shim::intercept {

/// A group argument: ours, MPI_GROUP_EMPTY, or one of the substrate's while that is active, read through its ranks in
/// MPI_COMM_WORLD. Only groups of ours have a session. Errors: group.
base::Result<GroupObject> take_group(MPI_Group handle);

/// The members of a communicator of either library. Errors: comm, group.
base::Result<sessions::GroupPtr> take_members(MPI_Comm handle);

/// A new handle, which the user frees; MPI_GROUP_EMPTY for the empty group.
base::Result<MPI_Group> hand_out_group(GroupObject object);

/// The group of what is made from two others: the session of the first that has one.
GroupObject combined(const GroupObject& a, const GroupObject& b, sessions::GroupPtr group);

}  // namespace shim::intercept
