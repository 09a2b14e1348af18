// SPDX-License-Identifier: BSD-3-Clause
// The hardware that this process may run on, as hwloc sees it.
#pragma once

#include <string>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::bootstrap {

struct HardwareResource {
  std::string type;            ///< hwloc's name of it: "Package", "NUMANode", "L3Cache", "Core", "PU" …
  bool is_restricted = false;  ///< the process is bound to a part of one instance
  int instance = -1;           ///< which one, in hwloc's order on this machine
};

/// The kinds of hardware of this machine, the largest first. Local; discovers anew at each call, which takes milliseconds.
/// Loads hwloc. Errors: other (it cannot be loaded, or finds nothing; the text says what to install).
base::Result<std::vector<HardwareResource>> hardware_resources();

}  // namespace shim::bootstrap
