// SPDX-License-Identifier: BSD-3-Clause
// What the functions have in common that make communicators from groups alone (MPI-4.1 §7.4.2, §7.6.2).
#pragma once

#include "shim/intercept/bodies/arguments.hpp"

namespace shim::intercept {

/// The session that the group came from. Groups of the world model have none: any will do, since all share one Process.
/// Errors: group.
base::Result<sessions::SessionPtr> session_of_group(const GroupObject& group);

/// MPI_MAX_STRINGTAG_LEN has room for the NUL (MPI-4.1 §7.4.2). Errors: arg.
base::Status check_string_tag(const char* tag);

}  // namespace shim::intercept
