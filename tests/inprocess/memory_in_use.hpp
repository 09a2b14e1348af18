// SPDX-License-Identifier: BSD-3-Clause
// Counts exactly the bytes of all live objects of this program, of all threads. The statistics of
// malloc do not suffice: they count the caches of threads as used.
#pragma once

#include <cstddef>

namespace shim::sessions::testing {

/// Return the bytes that operator new has allocated and operator delete has not freed; 0 under
/// sanitizers, which need their own operators.
std::size_t memory_in_use();

}  // namespace shim::sessions::testing
