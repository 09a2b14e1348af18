// SPDX-License-Identifier: BSD-3-Clause
// Runs a command in a child process and collects its standard output.
#pragma once

#include <string>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::info {

struct ChildResult {
  std::string output;  ///< standard output; standard error is inherited and not collected
  int exit_code = 0;
};

/// Start a command and wait until it has closed its standard output and exited. `words`: argv of
/// the command; words[0] is a path, which is not searched in PATH. A nonzero exit code is a result,
/// not an error. Errors: other (the command cannot be started; a signal ended it; or it was still
/// running, or its standard output open, `seconds` after the start, and this function killed it).
/// 0 s: without limit.
base::Result<ChildResult> run(const std::vector<std::string>& words, double seconds);

}  // namespace shim::info
