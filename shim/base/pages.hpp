// SPDX-License-Identifier: BSD-3-Clause
// Prefaults memory.
#pragma once

#include <cstddef>

namespace shim::base {

/// Fault in all whole pages of this range with one call (madvise(2), MADV_POPULATE_WRITE). One
/// fault per page costs 0.5 µs on one machine and 12 µs on another
/// (docs/decisions/0047-prefault-and-growth.md). Shared memory must be backed already
/// (SharedArea::back()). Has no effect before Linux 5.14, or if madvise(2) fails.
void prefault_pages(std::byte* begin, std::size_t length);

}  // namespace shim::base
