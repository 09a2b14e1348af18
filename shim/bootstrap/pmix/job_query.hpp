// SPDX-License-Identifier: BSD-3-Clause
// Queries PMIx for the job's data. Waits for no other process, and not for the server: PMIx_Get is
// limited to data that PMIx_Init has fetched.
#pragma once

#include <optional>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap::pmix {

struct JobFacts {
  Job job;
  /// nothing if the server reports it only with the whole node map
  std::optional<NodeLocation> location;
  std::vector<std::uint32_t> app_numbers;  ///< empty if there is one application
};

/// Query the job's data: a few requests for any job size, and one per process if there are several
/// applications. Errors: other (the server does not report the job's size).
base::Result<JobFacts> read_job(const PmixLibrary& library, const pmix_proc_t& self);

/// Query the numbers of the launch that PMIx_Init has fetched.
LaunchNumbers read_launch_numbers(const PmixLibrary& library, const pmix_proc_t& self);

/// Query the node map, with one request per node or per process. Errors: other (the server does not
/// report a process's node).
base::Result<NodeMap> read_node_map(const PmixLibrary& library, const pmix_proc_t& self,
                                    std::uint32_t size);

}  // namespace shim::bootstrap::pmix
