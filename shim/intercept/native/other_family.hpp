// SPDX-License-Identifier: BSD-3-Clause
// A program of one family of MPI libraries with our library for another in front of it.
#pragma once

namespace shim::intercept {

/// Ends the process with a message that says which library of ours is the right one, if there is a member of another family, and
/// none of our own: handles and constants differ, so no call would mean what it says. `scope`: where the next definitions are
/// looked for, dlsym(3)'s RTLD_NEXT, or null for libraries that are loaded but not in the order of lookup.
void refuse_other_family(void* scope) noexcept;

}  // namespace shim::intercept
