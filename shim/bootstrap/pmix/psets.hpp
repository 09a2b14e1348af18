// SPDX-License-Identifier: BSD-3-Clause
// Queries process sets that the launcher names. mpirun of Open MPI 5 does (--pset); Open MPI 4.1's
// has none.
#pragma once

#include <memory>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/library.hpp"
#include "shim/bootstrap/pmix/requests.hpp"

namespace shim::bootstrap::pmix {

/// Query the server, at every call, for at most `seconds` per request. Omits sets with members of
/// other jobs. Empty if the server does not support sets. Errors: other (no response in time).
base::Result<std::vector<NamedSet>> query_sets(const PmixLibrary& library,
                                               const std::shared_ptr<PmixRequestTable>& requests,
                                               const pmix_proc_t& self, double seconds);

}  // namespace shim::bootstrap::pmix
