// SPDX-License-Identifier: BSD-3-Clause
// Identifies processes beyond their reusable process ids, and checks whether they still run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shim::base {

/// Unique identity of a process on one kernel.
struct ProcessIdentity {
  std::uint64_t pid_namespace = 0;  ///< inode of /proc/self/ns/pid; 0: unknown
  std::uint64_t start_time = 0;     ///< clock ticks since boot (proc(5), stat field 22); 0: unknown
  std::int32_t pid = 0;             ///< in that namespace
};

/// Return the identity of the calling process.
ProcessIdentity own_identity();
/// Return the identity of a running process of this PID namespace.
ProcessIdentity identity_of(std::int32_t pid);

/// Fields of /proc/PID/stat (proc(5)).
struct ProcessStat {
  std::string name;
  char state = '?';
  std::int32_t parent = 0;
  std::uint64_t used_time = 0;  ///< processor time, in clock ticks
  std::uint64_t threads = 0;
  std::uint64_t start_time = 0;  ///< clock ticks since boot

  /// True if all threads have ended. A zombie with several threads still runs: only its main thread
  /// has ended, or the kernel is still ending the others.
  bool has_ended() const { return state == 'X' || (state == 'Z' && threads <= 1); }
};

/// Parse the text of /proc/PID/stat; return nothing if it is malformed. The name is in parentheses
/// and may contain spaces and parentheses.
std::optional<ProcessStat> parse_stat(std::string_view text);

/// True if the process still runs, as seen by a process with the identity `own`. False for a
/// zombie. True if unknown (another PID namespace, no access to /proc), because a wrong "dead"
/// would abort a healthy job.
bool is_running(const ProcessIdentity& process, const ProcessIdentity& own);

}  // namespace shim::base
