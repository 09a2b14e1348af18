// SPDX-License-Identifier: BSD-3-Clause
// Library holds PMIx's functions, resolved at run time. A process without sessions never loads the
// library, and a process with Open MPI shares its copy.
#pragma once

#include <pmix.h>

#include <string>

#include "shim/base/loaded_library.hpp"
#include "shim/base/result.hpp"

namespace shim::bootstrap::pmix {

/// The functions in use; tests replace them.
struct PmixLibrary {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Initialized) initialized = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Abort) abort = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Get_nb) get_nb = nullptr;
  decltype(&PMIx_Fence_nb) fence_nb = nullptr;
  decltype(&PMIx_Query_info_nb) query_info_nb = nullptr;
  decltype(&PMIx_Connect_nb) connect_nb = nullptr;
  decltype(&PMIx_Publish_nb) publish_nb = nullptr;
  decltype(&PMIx_Lookup_nb) lookup_nb = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
};

/// Load libpmix.so.2, or use the copy that is loaded already. It stays loaded, because PMIx has
/// threads and exit handlers. Errors: other (the library cannot be loaded or lacks a function; the
/// text names it and a remedy).
base::Result<PmixLibrary> load_library(const std::string& file = "libpmix.so.2");

/// Load the library only for its path and version. Errors: other.
base::Result<base::LoadedLibrary> describe_library(const std::string& file = "libpmix.so.2");

}  // namespace shim::bootstrap::pmix
