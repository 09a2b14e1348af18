// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/launched_processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/base/files.hpp"
#include "shim/bootstrap/to_number.hpp"

namespace shim::bootstrap {
namespace {

/// Programs that start the processes of a job on a node, and do so before they do anything else.
constexpr std::array<std::string_view, 6> kDaemons = {"orterun", "orted", "prterun",
                                                      "prte",    "prted", "hydra_pmi_proxy"};
/// A process that ends while /proc is read may hide another one from that scan.
constexpr int kScansToBelieve = 3;
/// Bounds the walk from a process to its ancestors: a table read while processes come and go may
/// hold a cycle.
constexpr int kMostAncestors = 64;

struct File {
  std::string text;
  int reason = 0;  ///< errno; 0: it was read
};

File read_whole(const std::string& path) {
  base::Result<std::string> text = base::read_file(path);
  if (!text) return {{}, text.error().foreign_code()};
  return {*std::move(text), 0};
}

/// Empty if there is no such link, or it cannot be read.
std::string link_target(const std::string& path) {
  std::array<char, 4096> target;
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// Return the next word of a line, and remove it from the line.
std::string_view take_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <typename Number>
std::optional<Number> number_in(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

/// Return the nearest ancestor of a process for which the condition holds.
template <typename Table, typename Condition>
std::optional<pid_t> nearest_above(const Table& table, pid_t pid, Condition holds) {
  auto at = table.find(pid);
  for (int steps = 0; at != table.end() && steps < kMostAncestors; ++steps) {
    at = table.find(at->second.parent);
    if (at != table.end() && holds(at->first)) return at->first;
  }
  return std::nullopt;
}

}  // namespace

/// The link of /proc names the caller in the PID namespace of that /proc, which need not be the
/// caller's own.
LaunchedProcesses::LaunchedProcesses(LaunchIdentity identity, std::string proc, Pace pace,
                                     Settled settled)
    : identity_(std::move(identity)),
      proc_(std::move(proc)),
      self_(static_cast<pid_t>(to_number(link_target(proc_ + "/self")).value_or(0))),
      pace_(pace),
      settled_(settled) {}

std::optional<LaunchedProcesses::Stat> LaunchedProcesses::stat_of(pid_t pid) const {
  const File file = read_whole(proc_ + "/" + std::to_string(pid) + "/stat");
  // proc(5): the name is in parentheses, and may itself hold spaces and parentheses
  const auto begin = file.text.find('('), end = file.text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 2 >= file.text.size())
    return std::nullopt;
  Stat stat{.name = file.text.substr(begin + 1, end - begin - 1)};
  std::string_view rest = std::string_view(file.text).substr(end + 2);
  stat.state = take_word(rest).front();
  const auto parent = number_in<pid_t>(take_word(rest));
  for (int field = 5; field < 14; ++field) take_word(rest);
  const auto user_time = number_in<std::uint64_t>(take_word(rest)),
             system_time = number_in<std::uint64_t>(take_word(rest));
  for (int field = 16; field < 22; ++field) take_word(rest);
  const auto start_time = number_in<std::uint64_t>(take_word(rest));
  if (!parent || !user_time || !system_time || !start_time) return std::nullopt;
  stat.parent = *parent;
  stat.used_time = *user_time + *system_time;
  stat.start_time = *start_time;
  return stat;
}

LaunchedProcesses::Table LaunchedProcesses::all() const {
  Table table;
  for (const std::string& name : base::names_in(proc_)) {
    const auto pid = to_number(name);
    if (!pid) continue;
    if (auto stat = stat_of(static_cast<pid_t>(*pid)))
      table.emplace(static_cast<pid_t>(*pid), *std::move(stat));
  }
  return table;
}

/// The name of the program's file. The kernel's name of the process, of 15 characters, if the file
/// is not to be seen.
std::string LaunchedProcesses::program_of(pid_t pid, const Stat& stat) const {
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
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos)
      return {};  // a program has written its title over the environment
    if (entry.substr(0, equals) == identity_.rank_variable)
      rank = to_number(entry.substr(equals + 1));
    if (std::ranges::find(identity_.job, entry) != identity_.job.end()) ++entries_of_job;
  }
  if (entries_of_job == identity_.job.size()) environment.rank = rank;
  return environment;
}

void LaunchedProcesses::note_launching(const Table& table, pid_t daemon) {
  std::uint64_t newest = 0;
  for (const auto& [pid, stat] : table)
    if (stat.parent == daemon) newest = std::max(newest, stat.start_time);
  if (launching_.daemon != daemon || newest > launching_.newest_child)
    launching_ = {
        .daemon = daemon, .newest_child = newest, .used_time = table.at(daemon).used_time};
}

/// A daemon that is asleep waits for events: it is between no two of the processes that it starts.
/// A daemon that has been busy for a while without starting one has other work.
bool LaunchedProcesses::is_settled(const Table& table, pid_t daemon) const {
  const Stat& stat = table.at(daemon);
  if (stat.state == 'T' || stat.state == 't' || !stat.is_running()) return false;
  if (stat.state == 'S') return true;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (static_cast<double>(stat.used_time - launching_.used_time) >= settled_.after_busy_s * ticks)
    return true;
  const File file = read_whole(proc_ + "/uptime");
  std::string_view rest = file.text;
  const auto uptime = number_in<double>(take_word(rest));
  const double since = static_cast<double>(table.at(self_).start_time) / ticks;
  return uptime && *uptime - since >= settled_.after_age_s;
}

LaunchedProcesses::Found LaunchedProcesses::scan(Table& table) {
  Found found;
  table = all();
  const std::set<pid_t> daemons = daemons_in(table);
  const auto daemon = nearest_above(table, self_, [&](pid_t pid) { return daemons.contains(pid); });
  if (daemon) note_launching(table, *daemon);
  if (!daemon || !is_settled(table, *daemon)) return found;
  const std::string daemon_program = program_of(*daemon, table.at(*daemon));
  std::set<pid_t> with_rank;
  std::vector<pid_t> unknown;
  for (const auto& [pid, stat] : table) {
    if (!stat.is_running()) continue;
    const auto above =
        nearest_above(table, pid, [&](pid_t ancestor) { return daemons.contains(ancestor); });
    if (above && *above != *daemon) continue;
    const Environment environment = environment_of(pid);
    if (environment.rank) {
      found.processes.try_emplace(*environment.rank, pid);
      with_rank.insert(pid);
    } else if (above && (!environment.is_known || program_of(pid, stat) == daemon_program)) {
      unknown.push_back(pid);  // the latter: a process that is about to become a program of the job
    }
  }
  // A child of a process whose rank is known has the same rank.
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
  if (stat && stat->is_running() && stat->start_time == seen->second.start_time) return true;
  seen_.erase(seen);
  return false;
}

void LaunchedProcesses::scan_when_due() {
  const base::Nanoseconds begun = base::now_ns();
  if (begun < next_scan_) return;
  Table table;
  const Found found = scan(table);
  for (auto& [rank, scans] : absent_)
    scans = !found.is_conclusive || found.processes.contains(rank) ? 0 : scans + 1;
  for (const auto& [rank, pid] : found.processes) seen_[rank] = {pid, table.at(pid).start_time};
  const base::Nanoseconds now = base::now_ns();
  const auto cost = static_cast<double>(now - begun);
  next_scan_ =
      now + std::max(pace_.between_scans, static_cast<base::Nanoseconds>(cost / pace_.most_load));
}

bool LaunchedProcesses::has_ended(std::uint32_t rank) {
  std::lock_guard guard(mutex_);
  if (is_still_there(rank)) return false;
  const auto absent = absent_.try_emplace(rank, 0).first;
  scan_when_due();
  return absent->second >= kScansToBelieve;
}

}  // namespace shim::bootstrap
