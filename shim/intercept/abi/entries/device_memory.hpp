// SPDX-License-Identifier: BSD-3-Clause
// Answers the extensions of both MPI libraries that report if device memory may be passed to MPI
// calls. While Intersession serves the world model, it may not.
#pragma once

#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/fortran.hpp"

namespace shim::intercept {

/// Return the native library's function; null if it has none, or is not in use.
template <typename Function>
Function* device_memory_query(const char* symbol) {
  return is_served_world_selected() ? nullptr : fortran::find_native<Function>(symbol);
}

/// Return the native library's answer, 0 without one.
inline int device_memory_support(const char* symbol) {
  auto* const native = device_memory_query<int()>(symbol);
  return native != nullptr ? native() : 0;
}

}  // namespace shim::intercept
