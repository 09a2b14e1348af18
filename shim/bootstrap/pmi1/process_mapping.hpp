// SPDX-License-Identifier: BSD-3-Clause
// Parses PMI_process_mapping, the nodes of a job: "(vector,(0,1,1),(1,1,2))"; since Hydra 5 also
// "(vector,[(0,2,1),4]x3)".
#pragma once

#include <string_view>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap::pmi1 {

/// Parse the text. Each block (first node, number of nodes, processes per node) places the next
/// ranks; after the last block the first follows again. A number alone is a node with one process;
/// "[blocks]xN" stands for N times these blocks (MPICH 5.0.1, src/mpl/src/mpl_rankmap.c). PMI-1 has
/// no host names, and all processes must use equal names: a single node is called `host`, several
/// are called "node<number>" by the launcher's numbering. Errors: other (malformed text, or no
/// process placed).
base::Result<NodeMap> parse_process_mapping(std::string_view text, std::uint32_t size,
                                            std::string_view host);

}  // namespace shim::bootstrap::pmi1
