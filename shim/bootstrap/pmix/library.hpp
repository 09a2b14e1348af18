// SPDX-License-Identifier: BSD-3-Clause
// libpmix, loaded when the first session needs it and never linked: a process without sessions has nothing of it.
#pragma once

#include <pmix.h>

#include "shim/base/result.hpp"

namespace shim::bootstrap::pmix {

struct Library {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Get_nb) get_nb;
  decltype(&PMIx_Fence_nb) fence_nb;
  decltype(&PMIx_Resolve_peers) resolve_peers;
  decltype(&PMIx_Resolve_nodes) resolve_nodes;
  decltype(&PMIx_Query_info) query_info;
  decltype(&PMIx_Abort) abort;
  decltype(&PMIx_Error_string) error_string;
  decltype(&PMIx_Value_destruct) value_destruct;
};

/// Loads it, or finds it loaded (the MPI below uses the same one). Errors: other (names the file and the package).
base::Result<Library> load_library();

/// What a PMIx code means; the text says what was asked and of whom.
base::Error error_of(const Library& library, pmix_status_t code, const std::string& what);

}  // namespace shim::bootstrap::pmix
