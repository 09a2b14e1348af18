// SPDX-License-Identifier: BSD-3-Clause
// PMI_process_mapping: where the processes of a job run, e.g. "(vector,(0,1,1),(1,1,2))".
#pragma once

#include <string_view>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap::pmi1 {

/// Each block (first node, nodes, processes on each) places the next ranks; when the blocks are used up they begin anew.
/// PMI-1 knows no names of hosts, and a node has one name in all processes: the only node is called `host`, several are called
/// "node<number>" after the launcher's numbers.
/// Errors: other (not such a text, or it places nobody).
base::Result<NodeMap> parse_process_mapping(std::string_view text, std::uint32_t size, std::string_view host);

}  // namespace shim::bootstrap::pmi1
