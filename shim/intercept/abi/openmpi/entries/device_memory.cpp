// SPDX-License-Identifier: BSD-3-Clause
// Implements Open MPI's extensions that report if device memory may be passed to MPI calls.
#include "shim/intercept/abi/entries/device_memory.hpp"

#pragma GCC visibility push(default)
extern "C" {
int MPIX_Query_cuda_support();
int MPIX_Query_rocm_support();
}
#pragma GCC visibility pop

using shim::intercept::device_memory_support;

extern "C" {

int MPIX_Query_cuda_support() { return device_memory_support("MPIX_Query_cuda_support"); }
int MPIX_Query_rocm_support() { return device_memory_support("MPIX_Query_rocm_support"); }

}  // extern "C"
