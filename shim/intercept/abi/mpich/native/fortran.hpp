// SPDX-License-Identifier: BSD-3-Clause
// Keeps the functions through which MPICH calls the Fortran procedures of attribute keys.
#pragma once

#include "shim/sessions/attributes.hpp"

namespace shim::intercept::fortran {

using Proxy = void();

/// Keep the functions for keys like this one: there is one pair for MPI-1 keys, and one for all
/// others. MPICH passes them for each key.
void keep_proxies(const sessions::Key& key, Proxy* copy, Proxy* erase);

}  // namespace shim::intercept::fortran
