// SPDX-License-Identifier: BSD-3-Clause
// Finds out whether a launcher has started this process as one of several, although it offers no
// interface (PMIx, PMI-1) that this process could use.
#pragma once

#include <optional>
#include <string>

namespace shim::bootstrap {

/// Return a warning for the user if an environment variable of a launcher says that this process is
/// one of several; nothing otherwise. For processes that have found no launcher. Local.
std::optional<std::string> warn_of_unusable_launcher();

}  // namespace shim::bootstrap
