// SPDX-License-Identifier: BSD-3-Clause
// What the launcher says about the job when this process begins.
#pragma once

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmi1/surroundings.hpp"

namespace shim::bootstrap::pmi1 {

class Use;

struct JobFacts {
  Job job;
  NodeMap node_map;
  std::size_t port_limit = 0;      ///< the longest text that is published under one name
  bool takes_second_init = false;  ///< the launcher answers init as often as it is sent
  bool has_group_barrier = false;  ///< PMI 1.2: a barrier of some of the processes
};

/// library_has_begun: the MPI library below has sent init, and this process has not seen the
/// answer.
/// Errors: other (no answer, an answer that is not understood, a version that is not PMI-1).
base::Result<JobFacts> read_job(Use& use, Position position, bool library_has_begun,
                                double seconds);

}  // namespace shim::bootstrap::pmi1
