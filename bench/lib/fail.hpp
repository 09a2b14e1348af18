// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

/// Print the reason and exit: a measurement cannot continue after an error.
[[noreturn]] inline void fail(const std::string& reason) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", reason.c_str());
  std::exit(1);
}

}  // namespace bench
