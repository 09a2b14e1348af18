// SPDX-License-Identifier: BSD-3-Clause
// Implements the extensions of MPICH that report if device memory may be passed to MPI calls. While
// Intersession serves the world model, it may not.
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/fortran.hpp"

#pragma GCC visibility push(default)
extern "C" {
int MPIX_Query_cuda_support();
int MPIX_Query_hip_support();
int MPIX_Query_ze_support();
int MPIX_GPU_query_support(int type, int* is_supported);
}
#pragma GCC visibility pop

namespace {

using shim::intercept::is_world_served;

/// Return the native library's answer; 0 if it has none, or is not in use.
int native_answer(const char* symbol) {
  auto* const native = is_world_served() ? nullptr
                                         : shim::intercept::fortran::find_native<int()>(symbol);
  return native != nullptr ? native() : 0;
}

}  // namespace

extern "C" {

int MPIX_Query_cuda_support() { return native_answer("MPIX_Query_cuda_support"); }
int MPIX_Query_hip_support() { return native_answer("MPIX_Query_hip_support"); }
int MPIX_Query_ze_support() { return native_answer("MPIX_Query_ze_support"); }

int MPIX_GPU_query_support(int type, int* is_supported) {
  auto* const native = is_world_served() ? nullptr
                                         : shim::intercept::fortran::find_native<int(int, int*)>(
                                               "MPIX_GPU_query_support");
  if (native != nullptr) return native(type, is_supported);
  *is_supported = 0;
  return MPI_SUCCESS;
}

}  // extern "C"
