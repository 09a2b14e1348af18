// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/launched_processes.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/base/files.hpp"
#include "shim/base/parsing.hpp"

namespace shim::bootstrap {
namespace {

/// Daemons that start a job's processes on a node before they do anything else.
constexpr std::array<std::string_view, 6> kDaemons = {"orterun", "orted", "prterun",
                                                      "prte",    "prted", "hydra_pmi_proxy"};
/// Scans needed, because a process that ends during a scan of /proc may hide another one from it.
constexpr int kScansToBelieve = 3;
/// Limit for the walk to a process's ancestors, because a table read while processes start and end
/// may have a cycle.
constexpr int kMaxAncestors = 64;

/// Return the processor time of the calling thread.
base::Nanoseconds time_of_thread() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return base::Nanoseconds{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

struct File {
  std::string text;
  int reason = 0;  ///< errno; 0: success
};

File read_whole(const std::string& path) {
  base::Result<std::string> text = base::read_file(path);
  if (!text) return {{}, text.error().foreign_code()};
  return {*std::move(text), 0};
}

/// Return the target of a symbolic link; empty if there is none, or it cannot be read.
std::string link_target(const std::string& path) {
  std::array<char, 4096> target;
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// Return the nearest ancestor of a process for which `holds` is true.
template <typename Table, typename Condition>
std::optional<pid_t> nearest_above(const Table& table, pid_t pid, Condition holds) {
  auto at = table.find(pid);
  for (int steps = 0; at != table.end() && steps < kMaxAncestors; ++steps) {
    at = table.find(at->second.parent);
    if (at != table.end() && holds(at->first)) return at->first;
  }
  return std::nullopt;
}

}  // namespace

/// self_ is read from the link of /proc, which names the caller in the PID namespace of this /proc;
/// the caller's own namespace may differ.
LaunchedProcesses::LaunchedProcesses(LaunchIdentity identity, std::string proc, ScanPace pace,
                                     SettleLimits settled)
    : identity_(std::move(identity)),
      proc_(std::move(proc)),
      self_(static_cast<pid_t>(base::to_number(link_target(proc_ + "/self")).value_or(0))),
      pace_(pace),
      settled_(settled) {}

std::optional<base::ProcessStat> LaunchedProcesses::stat_of(pid_t pid) const {
  return base::parse_stat(read_whole(proc_ + "/" + std::to_string(pid) + "/stat").text);
}

LaunchedProcesses::Table LaunchedProcesses::all() const {
  Table table;
  for (const std::string& name : base::names_in(proc_)) {
    const auto pid = base::to_number(name);
    if (!pid) continue;
    if (auto stat = stat_of(static_cast<pid_t>(*pid)))
      table.emplace(static_cast<pid_t>(*pid), *std::move(stat));
  }
  return table;
}

/// Return the file name of a process's program; the kernel's name of the process (15 characters) if
/// the file is not visible.
std::string LaunchedProcesses::program_of(pid_t pid, const base::ProcessStat& stat) const {
  const std::string path = link_target(proc_ + "/" + std::to_string(pid) + "/exe");
  if (path.empty()) return stat.name;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return std::string(name.substr(0, name.find(" (deleted)")));
}

std::set<pid_t> LaunchedProcesses::daemons_in(const Table& table) const {
  std::set<pid_t> daemons;
  for (const auto& [pid, stat] : table)
    if (std::ranges::find(kDaemons, program_of(pid, stat)) != kDaemons.end()) daemons.insert(pid);
  return daemons;
}

LaunchedProcesses::Environment LaunchedProcesses::environment_of(pid_t pid) const {
  const File file = read_whole(proc_ + "/" + std::to_string(pid) + "/environ");
  if (file.reason != 0 || file.text.empty()) return {};
  Environment environment{.is_known = true, .rank = std::nullopt};
  std::size_t entries_of_job = 0;
  std::optional<std::uint32_t> rank;
  for (std::string_view rest = file.text; !rest.empty();) {
    const std::string_view entry = base::take_until(rest, '\0');
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos)
      return {};  // the program has overwritten the environment with its title
    if (entry.substr(0, equals) == identity_.rank_variable)
      rank = base::to_number(entry.substr(equals + 1));
    if (std::ranges::find(identity_.job, entry) != identity_.job.end()) ++entries_of_job;
  }
  if (entries_of_job == identity_.job.size()) environment.rank = rank;
  return environment;
}

void LaunchedProcesses::record_launching(const Table& table, pid_t daemon) {
  std::uint64_t newest = 0;
  for (const auto& [pid, stat] : table)
    if (stat.parent == daemon) newest = std::max(newest, stat.start_time);
  if (launching_.daemon != daemon || newest > launching_.newest_child)
    launching_ = {
        .daemon = daemon, .newest_child = newest, .used_time = table.at(daemon).used_time};
}

/// True if the daemon has started all its processes. A sleeping daemon waits for events, so it is
/// not between two starts; a daemon busy for a while without a start has other work.
bool LaunchedProcesses::is_settled(const Table& table, pid_t daemon) const {
  const base::ProcessStat& stat = table.at(daemon);
  if (stat.state == 'T' || stat.state == 't' || stat.has_ended()) return false;
  if (stat.state == 'S') return true;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (static_cast<double>(stat.used_time - launching_.used_time) >= settled_.after_busy_s * ticks)
    return true;
  const File file = read_whole(proc_ + "/uptime");
  std::string_view rest = file.text;
  const std::string_view word = base::take_word(rest);
  const auto uptime = base::number_in<std::uint64_t>(
      word.substr(0, word.find('.')));  // whole seconds
  const double since = static_cast<double>(table.at(self_).start_time) / ticks;
  return uptime && static_cast<double>(*uptime) - since >= settled_.after_age_s;
}

LaunchedProcesses::Found LaunchedProcesses::scan(Table& table) {
  Found found;
  table = all();
  const std::set<pid_t> daemons = daemons_in(table);
  const auto daemon = nearest_above(table, self_, [&](pid_t pid) { return daemons.contains(pid); });
  if (daemon) record_launching(table, *daemon);
  if (!daemon || !is_settled(table, *daemon)) return found;
  const std::string daemon_program = program_of(*daemon, table.at(*daemon));
  std::set<pid_t> with_rank;
  std::vector<pid_t> unknown;
  for (const auto& [pid, stat] : table) {
    if (stat.has_ended()) continue;
    const auto above = nearest_above(table, pid,
                                     [&](pid_t ancestor) { return daemons.contains(ancestor); });
    if (above && *above != *daemon) continue;
    const Environment environment = environment_of(pid);
    if (environment.rank) {
      found.processes.try_emplace(*environment.rank, pid);
      with_rank.insert(pid);
    } else if (above && (!environment.is_known || program_of(pid, stat) == daemon_program)) {
      unknown.push_back(pid);  // a process that is about to execute a program of the job
    }
  }
  // A child of a process with a known rank has this rank.
  const auto has_known_ancestor = [&](pid_t pid) {
    return nearest_above(table, pid, [&](pid_t ancestor) { return with_rank.contains(ancestor); })
        .has_value();
  };
  found.is_conclusive = std::ranges::all_of(unknown, has_known_ancestor);
  return found;
}

bool LaunchedProcesses::is_still_there(std::uint32_t rank) {
  const auto seen = seen_.find(rank);
  if (seen == seen_.end()) return false;
  const auto stat = stat_of(seen->second.pid);
  if (stat && !stat->has_ended() && stat->start_time == seen->second.start_time) return true;
  seen_.erase(seen);
  return false;
}

void LaunchedProcesses::scan_when_due() {
  if (base::now_ns() < next_scan_) return;
  const base::Nanoseconds begun = time_of_thread();
  Table table;
  const Found found = scan(table);
  // ignore inconclusive scans, in which the daemon was busy: on a busy machine most scans may be
  for (auto& [rank, scans] : absent_) {
    if (found.processes.contains(rank))
      scans = 0;
    else if (found.is_conclusive)
      ++scans;
  }
  for (const auto& [rank, pid] : found.processes) seen_[rank] = {pid, table.at(pid).start_time};
  // processor time: on a busy machine a scan takes many times longer, but costs no more
  const auto cost = static_cast<double>(time_of_thread() - begun);
  const auto pause = static_cast<base::Nanoseconds>(cost / pace_.max_load);
  next_scan_ = base::now_ns() + std::max(pace_.between_scans, pause);
}

bool LaunchedProcesses::has_ended(std::uint32_t rank) {
  std::lock_guard guard(mutex_);
  if (is_still_there(rank)) return false;
  const auto absent = absent_.try_emplace(rank, 0).first;
  scan_when_due();
  return absent->second >= kScansToBelieve;
}

}  // namespace shim::bootstrap
