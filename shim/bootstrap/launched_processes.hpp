// SPDX-License-Identifier: BSD-3-Clause
// LaunchedProcesses finds the processes of this job on this node, in /proc. It detects the end of a
// process that never attached to the node's segment (docs/decisions/0010-unattached-deaths.md).
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
#include "shim/base/process_status.hpp"
#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// Thread-safe.
class LaunchedProcesses {
 public:
  /// Timing of the scans of /proc.
  struct ScanPace {
    base::Nanoseconds between_scans = 200'000'000;
    double max_load = 0.02;  ///< limit for the scans' share of one core
  };
  /// A daemon that is not asleep counts as done with starting processes once it has used this much
  /// processor time without starting one, or once the caller has this age. Hydra's proxy is always
  /// busy after a process has closed its output.
  struct SettleLimits {
    double after_busy_s = 0.1;
    double after_age_s = 5;
  };
  explicit LaunchedProcesses(LaunchIdentity identity)
      : LaunchedProcesses(std::move(identity), "/proc", ScanPace(), SettleLimits()) {}
  /// For tests: a directory with the layout of /proc, whose link "self" names the caller.
  LaunchedProcesses(LaunchIdentity identity, std::string proc, ScanPace pace, SettleLimits settled);

  /// True if the launcher has started all its processes on this node and none of them is the
  /// process of this rank any more, in three scans in a row. False if /proc cannot answer: the
  /// launcher's daemon is unknown, stopped, or in another PID namespace, or the rank of one of its
  /// descendants cannot be read.
  bool has_ended(std::uint32_t rank);

 private:
  using Table = std::map<pid_t, base::ProcessStat>;
  struct Environment {
    bool is_known = false;              ///< readable, and not overwritten by the program
    std::optional<std::uint32_t> rank;  ///< in this job
  };
  struct Found {
    bool is_conclusive = false;
    std::map<std::uint32_t, pid_t> processes;  ///< one process for each running rank
  };

  std::optional<base::ProcessStat> stat_of(pid_t pid) const;
  Table all() const;
  std::string program_of(pid_t pid, const base::ProcessStat& stat) const;
  std::set<pid_t> daemons_in(const Table& table) const;
  Environment environment_of(pid_t pid) const;
  void record_launching(const Table& table, pid_t daemon);
  bool is_settled(const Table& table, pid_t daemon) const;
  Found scan(Table& table);
  bool is_still_there(std::uint32_t rank);
  void scan_when_due();

  const LaunchIdentity identity_;
  const std::string proc_;
  const pid_t self_;
  const ScanPace pace_;
  const SettleLimits settled_;
  std::mutex mutex_;  ///< guards what follows
  base::Nanoseconds next_scan_ = 0;
  struct Seen {
    pid_t pid = 0;
    std::uint64_t start_time = 0;
  };
  struct Launching {
    pid_t daemon = 0;
    std::uint64_t newest_child = 0;  ///< start time of that child
    std::uint64_t used_time = 0;  ///< processor time of the daemon when that child was first seen
  };
  Launching launching_;
  std::map<std::uint32_t, Seen> seen_;  ///< by rank
  /// by requested rank: consecutive scans that did not find it
  std::map<std::uint32_t, int> absent_;
};

}  // namespace shim::bootstrap
