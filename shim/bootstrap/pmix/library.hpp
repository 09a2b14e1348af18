// SPDX-License-Identifier: BSD-3-Clause
// PMIx's functions, found at run time: a process without sessions never loads the library, and one with Open MPI shares
// its.
#pragma once

#include <pmix.h>

#include <string>

#include "shim/base/loaded_library.hpp"
#include "shim/base/result.hpp"

namespace shim::bootstrap::pmix {

/// The functions that are used; a test gives others.
struct Library {
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
  decltype(&PMIx_Resolve_peers) resolve_peers = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
};

/// Loads libpmix.so.2, or takes the one that is loaded already. It stays loaded: PMIx has threads and exit handlers of
/// its own. Errors: other (it cannot be loaded, or lacks a function; the text says which and what to try).
base::Result<Library> load_library(const std::string& file = "libpmix.so.2");

/// Loads it likewise, for its path and version alone. Errors: other.
base::Result<base::LoadedLibrary> describe_library(const std::string& file = "libpmix.so.2");

}  // namespace shim::bootstrap::pmix
