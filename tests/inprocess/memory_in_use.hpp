// SPDX-License-Identifier: BSD-3-Clause
// Bytes that objects of this program hold, to the byte, whichever thread made them. malloc's own count will not do: what threads
// keep aside for themselves counts as in use there.
#pragma once

#include <cstddef>

namespace shim::sessions::testing {

/// What operator new gave and operator delete has not got back; 0 under the sanitizers, whose own operators new find more than
/// these would.
std::size_t memory_in_use();

}  // namespace shim::sessions::testing
