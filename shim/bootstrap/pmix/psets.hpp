// SPDX-License-Identifier: BSD-3-Clause
// Process sets that the launcher names (mpirun of Open MPI 5: --pset; Open MPI 4.1's has none).
#pragma once

#include <memory>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/letters.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap::pmix {

/// Asks the server anew; waits for it at most `seconds` per question. Sets with members of other jobs are left out. A
/// server that knows no sets gives none. Errors: other (no answer in time).
base::Result<std::vector<NamedSet>> query_sets(const Library& library, const std::shared_ptr<PostOffice>& office,
                                               const pmix_proc_t& self, double seconds);

}  // namespace shim::bootstrap::pmix
