// SPDX-License-Identifier: BSD-3-Clause
// Near which cores memory is taken from, on machines where that makes a difference. One system call each: that needs no library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace shim::bootstrap {

/// The NUMA node, as the kernel numbers them, on which the calling thread runs at this moment: for a process that is bound by its
/// launcher, its own; for one that is not, a guess. Nothing where the kernel does not say. Local.
std::optional<std::uint32_t> current_numa_node();

/// Pages of this range that get memory from now on get it from that node, if it has any left, whoever touches them first (mbind(2),
/// MPOL_PREFERRED; of memory that processes share, for all of them). A wish: a kernel that does not grant it, because it knows no such
/// node or is not allowed to, is not complained about. `begin` lies on a page border.
void prefer_numa_node(std::byte* begin, std::size_t bytes, std::uint32_t node);

}  // namespace shim::bootstrap
