// SPDX-License-Identifier: BSD-3-Clause
// Which process of the operating system is which, and does it still run? A process id alone does not say: ids are used
// again.
#pragma once

#include <cstdint>

namespace shim::bootstrap {

/// What names a process uniquely on one kernel.
struct ProcessMark {
  std::uint64_t pid_namespace = 0;  ///< inode of /proc/self/ns/pid; 0: unknown
  std::uint64_t start_time = 0;     ///< clock ticks since boot (proc(5), stat field 22); 0: unknown
  std::int32_t pid = 0;             ///< in that namespace
};

/// The calling process.
ProcessMark own_mark();

/// Is that process still running, seen from a process with the mark `own`? A zombie is not. Where this cannot be told
/// (another PID namespace, no access to /proc) the answer is true, because a wrong "dead" would end a healthy job.
bool is_running(const ProcessMark& process, const ProcessMark& own);

}  // namespace shim::bootstrap
