// SPDX-License-Identifier: BSD-3-Clause
// LaunchedProcesses finds the processes of this job that run on this node, in /proc.
// It finds the end of a process that never attached to the node's segment
// (docs/decisions/0010-unattached-deaths.md).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// Thread-safe.
class LaunchedProcesses {
 public:
  /// Timing of the scans of /proc.
  struct Pace {
    base::Nanoseconds between_scans = 200'000'000;
    double most_load = 0.02;  ///< part of a core that scans may take
  };
  /// A daemon that is not asleep counts as done with starting processes once it has used so much
  /// processor time without starting one, or once the caller is so old. Hydra's proxy is busy all
  /// the time once a process has closed its output.
  struct Settled {
    double after_busy_s = 0.1;
    double after_age_s = 5;
  };
  explicit LaunchedProcesses(LaunchIdentity identity)
      : LaunchedProcesses(std::move(identity), "/proc", Pace(), Settled()) {}
  /// For tests: a directory with the layout of /proc, whose link "self" names the caller.
  LaunchedProcesses(LaunchIdentity identity, std::string proc, Pace pace, Settled settled);

  /// Return true if the launcher has started all its processes on this node and none of them is the
  /// process of this rank any more. Such a process has been absent in three scans in a row. False
  /// wherever /proc does not tell: if the launcher's daemon is unknown, stopped, or in another PID
  /// namespace, or if the rank of one of its descendants cannot be read.
  bool has_ended(std::uint32_t rank);

 private:
  /// One line of /proc/PID/stat.
  struct Stat {
    std::string name;
    char state = '?';
    pid_t parent = 0;
    std::uint64_t used_time = 0;   ///< of processors, in clock ticks
    std::uint64_t start_time = 0;  ///< clock ticks since the machine started
    bool is_running() const { return state != 'Z' && state != 'X'; }
  };
  using Table = std::map<pid_t, Stat>;
  struct Environment {
    bool is_known = false;  ///< it could be read, and the program has not overwritten it
    std::optional<std::uint32_t> rank;  ///< in this job
  };
  struct Found {
    bool is_conclusive = false;
    std::map<std::uint32_t, pid_t> processes;  ///< one of each rank that runs
  };

  std::optional<Stat> stat_of(pid_t pid) const;
  Table all() const;
  std::string program_of(pid_t pid, const Stat& stat) const;
  std::set<pid_t> daemons_in(const Table& table) const;
  Environment environment_of(pid_t pid) const;
  void note_launching(const Table& table, pid_t daemon);
  bool is_settled(const Table& table, pid_t daemon) const;
  Found scan(Table& table);
  bool is_still_there(std::uint32_t rank);
  void scan_when_due();

  const LaunchIdentity identity_;
  const std::string proc_;
  const pid_t self_;
  const Pace pace_;
  const Settled settled_;
  std::mutex mutex_;  ///< guards what follows
  base::Nanoseconds next_scan_ = 0;
  struct Seen {
    pid_t pid = 0;
    std::uint64_t start_time = 0;
  };
  struct Launching {
    pid_t daemon = 0;
    std::uint64_t newest_child = 0;  ///< its start time
    std::uint64_t used_time = 0;     ///< of the daemon, when that child was first seen
  };
  Launching launching_;
  std::map<std::uint32_t, Seen> seen_;  ///< by rank
  std::map<std::uint32_t, int>
      absent_;  ///< by rank that was asked for: scans in a row that did not find it
};

}  // namespace shim::bootstrap
