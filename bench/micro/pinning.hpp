// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sched.h>

#include <cstdio>

namespace bench {

/// Pin the calling thread to a core; if this fails, warn and continue.
inline void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::perror("pinning to a core");
}

}  // namespace bench
