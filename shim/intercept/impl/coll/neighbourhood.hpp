// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood lists a process's peers in an exchange of messages. They are its neighbours in a
// topology (MPI-4.1 §8.6) or the remote group.
#pragma once

#include <vector>

#include "shim/base/result.hpp"
#include "shim/sessions/communicator.hpp"

namespace shim::intercept {

/// Ranks in the order of the blocks in the buffers; p2p::kProcNull beyond the edge of a grid.
struct Neighbourhood {
  std::vector<int> sources, destinations;
  /// Indices into `sources`, in matching order, if a process occurs several times: its messages
  /// arrive in the order of its own destinations, and are assigned to sources in this order. Empty:
  /// the order of `sources`.
  std::vector<int> arrivals = {};
};

/// Return the neighbourhood in the topology. Local. Errors: topology (the communicator has none).
base::Result<Neighbourhood> neighbourhood_of(const sessions::Communicator& comm);

}  // namespace shim::intercept
