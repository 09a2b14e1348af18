// SPDX-License-Identifier: BSD-3-Clause
// Pages of memory that are about to be used.
#pragma once

#include <cstddef>

namespace shim::base {

/// Has the system put all whole pages of this range in place, in one call instead of a fault for each, which takes a process 0.5 µs on one
/// machine and 12 on another (docs/measurements.md, "Memory that copies go through"). The range must be reserved. Before Linux 5.14, or
/// where the system refuses, nothing happens, and each page is met when it is used. Source: madvise(2), MADV_POPULATE_WRITE.
void meet_pages(std::byte* begin, std::size_t length);

}  // namespace shim::base
