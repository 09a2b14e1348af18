// SPDX-License-Identifier: BSD-3-Clause
// Process sets of the own node's hardware: mpix://NUMA/<host>/<n> and mpix://SOCKET/<host>/<n>, n as hwloc counts.
#pragma once

#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/node_hardware.hpp"
#include "shim/sessions/pset_text.hpp"

namespace shim::sessions {

/// The processes of the own node whose cores all belonged to one instance when they began their first session; one that may run on
/// several is in none, and sets without processes are not there. Nothing until every process of the node has begun a session; from
/// then on all of them get the same, for as long as one of them has a session. Local; the hardware is found out once on a node.
/// Without hwloc there are none.
std::vector<NamedGroup> hardware_sets(bootstrap::NodeHardware& hardware, const bootstrap::NodeMap& nodes, std::uint32_t own_rank);

}  // namespace shim::sessions
