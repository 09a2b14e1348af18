// SPDX-License-Identifier: BSD-3-Clause
// Implements MPICH's extensions that report if device memory may be passed to MPI calls.
#include "shim/intercept/abi/entries/device_memory.hpp"

#pragma GCC visibility push(default)
extern "C" {
int MPIX_Query_cuda_support();
int MPIX_Query_hip_support();
int MPIX_Query_ze_support();
int MPIX_GPU_query_support(int type, int* is_supported);
}
#pragma GCC visibility pop

using shim::intercept::device_memory_support;

extern "C" {

int MPIX_Query_cuda_support() { return device_memory_support("MPIX_Query_cuda_support"); }
int MPIX_Query_hip_support() { return device_memory_support("MPIX_Query_hip_support"); }
int MPIX_Query_ze_support() { return device_memory_support("MPIX_Query_ze_support"); }

int MPIX_GPU_query_support(int type, int* is_supported) {
  auto* const native = shim::intercept::device_memory_query<int(int, int*)>(
      "MPIX_GPU_query_support");
  if (native != nullptr) return native(type, is_supported);
  *is_supported = 0;
  return MPI_SUCCESS;
}

}  // extern "C"
