// SPDX-License-Identifier: BSD-3-Clause
// Makes process sets of this node's hardware. Names: mpix://NUMA/<host>/<n> and
// mpix://SOCKET/<host>/<n>, n as numbered by hwloc.
#pragma once

#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/node/node_hardware.hpp"
#include "shim/sessions/pset_text.hpp"

namespace shim::sessions {

/// Return one set per hardware instance: the local processes whose cores all belonged to it when
/// they began their first session. Omits processes that may run on several instances, and empty
/// sets. Empty until every local process has begun a session; from then on all get equal results,
/// while any of them has a session. Local; the hardware is discovered once per node. Empty without
/// hwloc.
std::vector<NamedGroup> hardware_sets(node::NodeHardware& hardware, const bootstrap::NodeMap& nodes,
                                      std::uint32_t own_rank);

}  // namespace shim::sessions
