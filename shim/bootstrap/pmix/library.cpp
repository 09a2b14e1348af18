// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/library.hpp"

#include <dlfcn.h>

#include <string>

namespace shim::bootstrap::pmix {
namespace {
constexpr const char* kFile = "libpmix.so.2";
}

base::Result<Library> load_library() {
  void* handle = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return base::Error(base::ErrorClass::other, std::string("the job was started by a PMIx launcher, but ") + kFile +
                                                    " cannot be loaded (" + dlerror() + "); on Debian: libpmix2");
  Library library{};
  std::string missing;
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr) missing += std::string(" ") + name;
  };
  find(library.init, "PMIx_Init");
  find(library.finalize, "PMIx_Finalize");
  find(library.put, "PMIx_Put");
  find(library.commit, "PMIx_Commit");
  find(library.get, "PMIx_Get");
  find(library.get_nb, "PMIx_Get_nb");
  find(library.fence_nb, "PMIx_Fence_nb");
  find(library.resolve_peers, "PMIx_Resolve_peers");
  find(library.resolve_nodes, "PMIx_Resolve_nodes");
  find(library.query_info, "PMIx_Query_info");
  find(library.abort, "PMIx_Abort");
  find(library.error_string, "PMIx_Error_string");
  find(library.value_destruct, "PMIx_Value_destruct");
  if (!missing.empty())
    return base::Error(base::ErrorClass::other, std::string(kFile) + " is too old, it lacks" + missing + "; PMIx 4 is needed");
  return library;
}

base::Error error_of(const Library& library, pmix_status_t code, const std::string& what) {
  auto error_class = base::ErrorClass::other;
  if (code == PMIX_ERR_NOMEM) error_class = base::ErrorClass::no_mem;
  if (code == PMIX_ERR_PROC_ABORTED) error_class = base::ErrorClass::proc_aborted;
  return base::Error(error_class, base::Origin::pmix, code, what + ": PMIx says " + library.error_string(code));
}

}  // namespace shim::bootstrap::pmix
