// SPDX-License-Identifier: BSD-3-Clause
// What a PMIx server tells about the job when it is asked. None of it needs another process, or even the server: all
// comes from what PMIx_Init brought along.
#pragma once

#include <optional>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap::pmix {

struct JobFacts {
  Job job;
  std::optional<Place> place;              ///< nothing where the server does not say so much without the whole map
  std::vector<std::uint32_t> app_numbers;  ///< empty where there is one application only
};

/// A few questions, whatever the size of the job, and one for each process if there are several applications. Errors: other (the server
/// does not say how large the job is).
base::Result<JobFacts> read_job(const Library& library, const pmix_proc_t& self);

/// One question for each node, or process. Errors: other (the server does not say where a process runs).
base::Result<NodeMap> read_node_map(const Library& library, const pmix_proc_t& self, std::uint32_t size);

}  // namespace shim::bootstrap::pmix
