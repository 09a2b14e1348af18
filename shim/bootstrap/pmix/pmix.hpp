// SPDX-License-Identifier: BSD-3-Clause
// The launcher through PMIx (mpirun of Open MPI, PRRTE, Slurm's plugin).
#pragma once

#include <memory>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// Is this process a client of a PMIx server, as its environment says?
bool has_pmix_environment();
/// Local. PMIx counts its initialisations, so this works beside the MPI below, before it and after it.
base::Result<std::unique_ptr<Bootstrap>> open_pmix(const Options& options);

}  // namespace shim::bootstrap
