// SPDX-License-Identifier: BSD-3-Clause
// Does the program call us at all?
#pragma once

#include "shim/base/result.hpp"

namespace shim::intercept {

/// Where the MPI library comes before ours in the order in which the program's symbols are looked up, calls that both have go
/// to it and only those of Sessions come to us; handles of ours would then reach the MPI library, which crashes. A tool in
/// front of us has MPI_ functions too, but no PMPI_ functions. Errors: other (names the library that comes first, and what to do).
base::Status check_link_order();

/// A library below may make itself visible to everybody in MPI_Init, also where it was loaded for one library alone (dlopen with
/// RTLD_LOCAL). What that library has not called yet would then be found there: so we become visible first.
void stay_in_front();

}  // namespace shim::intercept
