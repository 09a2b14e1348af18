// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/other_family.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

#include "shim/intercept/abi/library.hpp"

namespace shim::intercept {
namespace {

/// Return the file of a member library, found by its mark or its name; null if there is none.
const char* member(const families::Family& family, void* scope) noexcept {
  if (scope != nullptr) {
    Dl_info found{};
    void* mark = dlsym(scope, family.mark);
    return mark == nullptr ? nullptr : dladdr(mark, &found) != 0 ? found.dli_fname : family.name;
  }
  for (const char* name : family.sonames) {
    if (void* loaded = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) {
      dlclose(loaded);
      return name;
    }
  }
  return nullptr;
}

}  // namespace

void refuse_other_family(void* scope) noexcept {
  if (member(abi::kFamily, scope) != nullptr) return;
  for (const families::Family* other : families::kFamilies) {
    const char* library = other == &abi::kFamily ? nullptr : member(*other, scope);
    if (library == nullptr) continue;
    std::fprintf(stderr,
                 "intersession: the MPI library of this program is %s with the ABI of %s, but %s "
                 "in front of it is for %s; use %s instead\n",
                 library, other->name, abi::kFamily.library, abi::kFamily.name, other->library);
    std::fflush(stderr);
    _exit(1);
  }
}

}  // namespace shim::intercept
