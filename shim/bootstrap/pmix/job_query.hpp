// SPDX-License-Identifier: BSD-3-Clause
// What a PMIx server tells about the job when it is asked. None of it needs another process, or even the server: all
// comes from what PMIx_Init brought along.
#pragma once

#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap::pmix {

struct JobFacts {
  Job job;
  NodeMap node_map;
  std::vector<std::uint32_t> app_numbers;  ///< empty where there is one application only
};

/// Errors: other (the server does not say how large the job is, or where a process runs).
base::Result<JobFacts> read_job(const Library& library, const pmix_proc_t& self);

}  // namespace shim::bootstrap::pmix
