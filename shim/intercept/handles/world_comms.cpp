// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/world_comms.hpp"

namespace shim::intercept {

constinit WorldComms world_comms;

}  // namespace shim::intercept
