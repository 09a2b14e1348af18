// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/link_order.hpp"

#include <dlfcn.h>

#include <string>

namespace shim::intercept {

base::Status check_link_order() {
  // Look up like a reference of this library: first in the global scope, then in its own.
  void* found = ::dlsym(RTLD_DEFAULT, "PMPI_Comm_rank");
  Dl_info theirs{}, ours{};
  if (found == nullptr || ::dladdr(found, &theirs) == 0) return {};
  if (::dladdr(reinterpret_cast<void*>(&check_link_order), &ours) == 0 ||
      theirs.dli_fbase == ours.dli_fbase)
    return {};
  return base::Error(
      base::ErrorClass::other,
      std::string("MPI calls go to ") + theirs.dli_fname +
          " instead of Intersession, which comes later in the link order; link the program with "
          "Intersession before the MPI library, or preload it (intersession-run)");
}

void become_globally_visible() {
  Dl_info ours{};
  if (::dladdr(reinterpret_cast<void*>(&become_globally_visible), &ours) == 0) return;
  if (void* self = ::dlopen(ours.dli_fname, RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL)) ::dlclose(self);
}

}  // namespace shim::intercept
