// SPDX-License-Identifier: BSD-3-Clause
// Lets Open MPI 5 initialize PMIx in MPI_Init although a session has initialized it before.
//
// Open MPI 5 skips PMIx_Init, from which it learns its own name, if PMIx_Initialized() is true
// (ompi/runtime/ompi_rte.c, 5.0.7); MPI_Init then fails with "local rank: Not found". PMIx counts
// its initializations, so a second one is harmless.
#include <dlfcn.h>

#include "shim/intercept/lifetime.hpp"

#pragma GCC visibility push(default)
extern "C" int PMIx_Initialized();
#pragma GCC visibility pop

extern "C" int PMIx_Initialized() {
  static const auto native = reinterpret_cast<int (*)()>(::dlsym(RTLD_NEXT, "PMIx_Initialized"));
  return native != nullptr && !shim::intercept::is_in_native_init() ? native() : 0;
}
