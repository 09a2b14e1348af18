// SPDX-License-Identifier: BSD-3-Clause
// A command that is run for its output.
#pragma once

#include <string>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::info {

struct Outcome {
  std::string output;
  int exit_code = 0;
};

/// Runs a command to its end. Errors: other (it cannot be started, ends by a signal, or has not ended after so many seconds and
/// is killed).
base::Result<Outcome> run(const std::vector<std::string>& words, double seconds);

}  // namespace shim::info
