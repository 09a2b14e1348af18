// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/link_order.hpp"

#include <dlfcn.h>

#include <string>

namespace shim::intercept {

base::Status check_link_order() {
  // Looks where a reference of ours would be looked up: first in the global scope, then beside us.
  void* found = ::dlsym(RTLD_DEFAULT, "PMPI_Comm_rank");
  Dl_info theirs{}, ours{};
  if (found == nullptr || ::dladdr(found, &theirs) == 0) return {};
  if (::dladdr(reinterpret_cast<void*>(&check_link_order), &ours) == 0 || theirs.dli_fbase == ours.dli_fbase) return {};
  return base::Error(base::ErrorClass::other,
                     std::string("calls of MPI go to ") + theirs.dli_fname +
                         " and not to Intersession, which comes after it; link the program with Intersession before the MPI, or "
                         "preload it (intersession-run)");
}

void stay_in_front() {
  Dl_info ours{};
  if (::dladdr(reinterpret_cast<void*>(&stay_in_front), &ours) == 0) return;
  if (void* self = ::dlopen(ours.dli_fname, RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL)) ::dlclose(self);
}

}  // namespace shim::intercept
