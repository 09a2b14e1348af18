// SPDX-License-Identifier: BSD-3-Clause
// Helpers of tests that a call leaves no pointer to its stack frame behind.
#pragma once

#include <cstddef>

namespace shim::base {

/// Run the call far below the caller's frames, so that later calls of the caller leave the memory
/// of the call's objects unchanged. A pointer to one of them then has a visible effect.
template <typename Call>
[[gnu::noinline]] void run_deep_in_the_stack(const Call& call) {
  volatile std::byte frame[512 * 1024];
  frame[0] = std::byte{0};
  call();
  frame[1] = frame[0];
}

}  // namespace shim::base
