// SPDX-License-Identifier: BSD-3-Clause
// Queries and sets the NUMA node of memory, with one system call each and no library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace shim::node {

/// Return the NUMA node (kernel numbering) of the core on which the calling thread runs now. It is
/// a guess if the process is not bound. Nothing if the kernel does not report it. Local.
std::optional<std::uint32_t> current_numa_node();

/// Prefer this NUMA node for pages of the range that are allocated from now on, in any process that
/// shares the memory (mbind(2), MPOL_PREFERRED). Ignores errors, for example of a kernel without
/// this node or permission. `begin` is page-aligned.
void prefer_numa_node(std::byte* begin, std::size_t bytes, std::uint32_t node);

}  // namespace shim::node
