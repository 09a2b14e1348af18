// SPDX-License-Identifier: BSD-3-Clause
// Whom a process exchanges messages with: its neighbours in a topology (MPI-4.1 §8.6), or the other group.
#pragma once

#include <vector>

#include "shim/base/result.hpp"
#include "shim/sessions/communicator.hpp"

namespace shim::intercept {

/// Ranks in the order of the blocks in the buffers; p2p::kProcNull beyond the edge of a grid.
struct Neighbourhood {
  std::vector<int> sources, destinations;
  /// Which sources the messages from one process belong to, where it is several of them: they arrive in the order in which their
  /// sender lists its destinations, and are given to its sources in this order (indices into `sources`). Empty: as they stand.
  std::vector<int> arrivals = {};
};

/// Local. Errors: topology (the communicator has none).
base::Result<Neighbourhood> neighbourhood_of(const sessions::Communicator& comm);

}  // namespace shim::intercept
