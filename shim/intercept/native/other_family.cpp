// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/other_family.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

#include "shim/intercept/abi/families.hpp"

namespace shim::intercept {
namespace {

/// A member's library, by its mark or by its name; null where there is none.
const char* member(const abi::Family& family, void* scope) noexcept {
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
  for (const abi::Family* other : abi::kFamilies) {
    const char* library = other == &abi::kFamily ? nullptr : member(*other, scope);
    if (library == nullptr) continue;
    std::fprintf(stderr,
                 "intersession: the MPI of this program is %s, whose ABI is that of %s, but %s stands in front of it, which is for "
                 "%s: handles and constants of the two differ. Use %s instead\n",
                 library, other->name, abi::kFamily.library, abi::kFamily.name, other->library);
    std::fflush(stderr);
    _exit(1);
  }
}

}  // namespace shim::intercept
