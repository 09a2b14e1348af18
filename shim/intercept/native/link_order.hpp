// SPDX-License-Identifier: BSD-3-Clause
// Checks that the program's MPI calls reach Intersession first.
#pragma once

#include "shim/base/result.hpp"

namespace shim::intercept {

/// Check that Intersession precedes the MPI library in symbol lookup order. Otherwise calls that
/// both define reach the MPI library and only session functions reach Intersession; the MPI library
/// would crash on Intersession's handles. A tool in front has MPI_ functions but no PMPI_
/// functions. Errors: other (names the library that comes first, and the remedy).
base::Status check_link_order();

/// Make Intersession's symbols global before MPI_Init. A native library may make its symbols global
/// in MPI_Init even if it was loaded with RTLD_LOCAL for one library; that library's first later
/// calls would then bind to the native library instead of Intersession.
void become_globally_visible();

}  // namespace shim::intercept
