// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

/// Ends the process with the reason: a measurement has nobody who could go on without what failed.
[[noreturn]] inline void fail(const std::string& reason) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", reason.c_str());
  std::exit(1);
}

}  // namespace bench
