// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/library.hpp"

#include <dlfcn.h>

#include "shim/base/descriptor.hpp"

namespace shim::bootstrap::pmix {
namespace {

using base::Error;
using base::ErrorClass;

template <typename Function>
base::Status find(void* library, const std::string& file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function != nullptr) return {};
  return Error(ErrorClass::other,
               file + " has no function " + name + ": it is older than PMIx 3; install libpmix2");
}

base::Result<void*> open_file(const std::string& file) {
  const base::StandardStreamsHeld streams;
  if (void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return library;
  const char* reason = ::dlerror();
  return Error(ErrorClass::other, "the PMIx library cannot be loaded (" +
                                      std::string(reason == nullptr ? file : reason) +
                                      "); install libpmix2, or add its folder to LD_LIBRARY_PATH");
}

}  // namespace

base::Result<PmixLibrary> load_library(const std::string& file) {
  auto opened = open_file(file);
  if (!opened) return std::move(opened).error().within("the launcher of this process uses PMIx");
  void* library = *opened;
  PmixLibrary table;
  SHIM_TRY(find(library, file, "PMIx_Init", table.init));
  SHIM_TRY(find(library, file, "PMIx_Initialized", table.initialized));
  SHIM_TRY(find(library, file, "PMIx_Finalize", table.finalize));
  SHIM_TRY(find(library, file, "PMIx_Abort", table.abort));
  SHIM_TRY(find(library, file, "PMIx_Put", table.put));
  SHIM_TRY(find(library, file, "PMIx_Commit", table.commit));
  SHIM_TRY(find(library, file, "PMIx_Get", table.get));
  SHIM_TRY(find(library, file, "PMIx_Get_nb", table.get_nb));
  SHIM_TRY(find(library, file, "PMIx_Fence_nb", table.fence_nb));
  SHIM_TRY(find(library, file, "PMIx_Query_info_nb", table.query_info_nb));
  SHIM_TRY(find(library, file, "PMIx_Connect_nb", table.connect_nb));
  SHIM_TRY(find(library, file, "PMIx_Publish_nb", table.publish_nb));
  SHIM_TRY(find(library, file, "PMIx_Lookup_nb", table.lookup_nb));
  SHIM_TRY(find(library, file, "PMIx_Error_string", table.error_string));
  return table;
}

base::Result<base::LoadedLibrary> describe_library(const std::string& file) {
  SHIM_TRY_ASSIGN(void* library, open_file(file));
  decltype(&PMIx_Get_version) get_version = nullptr;
  SHIM_TRY(find(library, file, "PMIx_Get_version", get_version));
  return base::LoadedLibrary{base::file_of(reinterpret_cast<const void*>(get_version)),
                             get_version()};
}

}  // namespace shim::bootstrap::pmix
