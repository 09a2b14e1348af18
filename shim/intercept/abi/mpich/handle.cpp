// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept::abi {

constinit std::atomic<bool> any_handle_made{false};

base::Status reserve_handles() {
  any_handle_made.store(true, std::memory_order_relaxed);
  return {};
}

}  // namespace shim::intercept::abi
