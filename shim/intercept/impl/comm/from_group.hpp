// SPDX-License-Identifier: BSD-3-Clause
// Implements the common code of functions that make communicators from groups (MPI-4.1 §7.4.2,
// §7.6.2).
#pragma once

#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {

/// Return the session of the group. For a group of the world model, return any living session,
/// since all share one Process; without one, make a session, which ends with its last communicator.
/// Errors: group, those of acquire_process.
base::Result<sessions::SessionPtr> session_of_group(const GroupObject& group);

/// Check a string tag: MPI_MAX_STRINGTAG_LEN includes the NUL (MPI-4.1 §7.4.2). Errors: arg.
base::Status check_string_tag(const char* tag);

}  // namespace shim::intercept
