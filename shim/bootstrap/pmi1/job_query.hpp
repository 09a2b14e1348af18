// SPDX-License-Identifier: BSD-3-Clause
// Queries the launcher for the job's data at the start.
#pragma once

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmi1/pmi_env.hpp"

namespace shim::bootstrap::pmi1 {

class ProxyLease;

struct JobFacts {
  Job job;
  NodeMap node_map;
  std::size_t port_limit = 0;      ///< limit for the text published under one name
  bool takes_second_init = false;  ///< the launcher responds to every init
  bool has_group_barrier = false;  ///< PMI 1.2: barrier over a group of processes
};

/// Query the job's data.
/// @param host_has_sent_init the native library has sent init, and this process has not seen the
/// response
///
/// Errors: other (no response, an invalid response, a version other than PMI-1).
base::Result<JobFacts> read_job(ProxyLease& use, Position position, bool host_has_sent_init,
                                double seconds);

/// Query the numbers of the launch. A value that is no number counts as not passed: hydra's size of
/// the universe is "infinite", and Slurm's application number is -1.
LaunchNumbers read_launch_numbers(ProxyLease& use, double seconds);

}  // namespace shim::bootstrap::pmi1
