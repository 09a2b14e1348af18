// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept::abi {

constinit std::atomic<bool> handle_was_made{false};

}  // namespace shim::intercept::abi
