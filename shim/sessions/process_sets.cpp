// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/process_sets.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "shim/sessions/pset_names.hpp"

namespace shim::sessions {
namespace {

/// How many names the report of an unknown one lists.
constexpr std::size_t kNamesInReport = 24;

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& other) { return same_pset_name(other, name); });
}

/// The application numbers that occur, ascending; none where the launch has only one application.
std::set<std::uint32_t> applications(const bootstrap::Bootstrap& bootstrap) {
  auto numbers = bootstrap.app_numbers();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

ProcessSets::ProcessSets(const base::Settings& settings, bootstrap::Bootstrap& bootstrap, const base::Log& log)
    : bootstrap_(bootstrap), log_(log) {
  read_user_sets(settings);
}

void ProcessSets::read_user_sets(const base::Settings& settings) {
  if (!settings.psets.empty())
    take(parse_psets(settings.psets, ';', bootstrap_.job().size), "the setting INTERSESSION_PSETS");
  if (!settings.pset_file.empty()) read_file(settings.pset_file);
}

void ProcessSets::read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()).good()) {
    // an empty file sets the fail bit of the receiving stream: nothing to read is no fault
    if (file.is_open() && file.peek() == std::ifstream::traits_type::eof() && !file.bad()) return;
    log_.write(base::LogLevel::warn, "the file of process sets " + path + " (INTERSESSION_PSET_FILE) cannot be read: " +
                                         std::strerror(errno) + "; its sets are not there");
    return;
  }
  take(parse_psets(text.str(), '\n', bootstrap_.job().size), path);
}

void ProcessSets::take(PsetText text, const std::string& source) {
  for (const PsetComplaint& complaint : text.complaints)
    log_.write(base::LogLevel::warn, "process sets: " + source + ", line " + std::to_string(complaint.line) + ", column " +
                                         std::to_string(complaint.column) + ": " + complaint.text + "; this set is left out");
  for (NamedGroup& set : text.sets) {
    bool is_taken = std::any_of(user_sets_.begin(), user_sets_.end(), [&](const auto& other) { return other.name == set.name; });
    if (is_taken) log_.write(base::LogLevel::warn, "process sets: " + source + ": a second set named \"" + set.name + "\"; left out");
    else user_sets_.push_back(std::move(set));
  }
}

std::vector<std::string> ProcessSets::built_in_names() const {
  std::vector<std::string> names = {std::string(kWorldName), std::string(kSelfName), std::string(kSharedName)};
  const auto& nodes = bootstrap_.node_map();
  for (std::uint32_t node = 0; node < nodes.node_count(); ++node) names.push_back(std::string(kNodePrefix) + nodes.host(node));
  for (std::uint32_t app : applications(bootstrap_)) names.push_back(std::string(kAppPrefix) + std::to_string(app));
  return names;
}

/// Null where there is none of this name.
GroupPtr ProcessSets::built_in(std::string_view name) const {
  const bootstrap::Job& job = bootstrap_.job();
  const auto& nodes = bootstrap_.node_map();
  if (same_pset_name(name, kWorldName)) return Group::of_ranges({{0, 0, job.size, 1}});
  if (same_pset_name(name, kSelfName)) return Group::of_ranges({{0, job.rank, 1, 1}});
  if (same_pset_name(name, kSharedName)) return Group::of_ranks(nodes.ranks_on(nodes.node_of(job.rank)));
  for (std::uint32_t node = 0; node < nodes.node_count(); ++node)
    if (same_pset_name(name, std::string(kNodePrefix) + nodes.host(node))) return Group::of_ranks(nodes.ranks_on(node));
  for (std::uint32_t app : applications(bootstrap_)) {
    if (!same_pset_name(name, std::string(kAppPrefix) + std::to_string(app))) continue;
    std::vector<std::uint32_t> ranks;
    auto numbers = bootstrap_.app_numbers();
    for (std::uint32_t rank = 0; rank < numbers.size(); ++rank)
      if (numbers[rank] == app) ranks.push_back(rank);
    return Group::of_ranks(ranks);
  }
  return nullptr;
}

std::vector<bootstrap::NamedSet> ProcessSets::launcher_sets() {
  auto sets = bootstrap_.named_sets();
  if (sets) return *std::move(sets);
  std::lock_guard guard(mutex_);
  if (!std::exchange(launcher_has_failed_, true))
    log_.write(base::LogLevel::warn, "the launcher does not tell its process sets: " + sets.error().text());
  return {};
}

std::vector<std::string> ProcessSets::names() {
  std::vector<std::string> names = built_in_names();
  std::vector<std::string> others;
  for (auto& set : launcher_sets()) others.push_back(std::move(set.name));
  for (const auto& set : user_sets_) others.push_back(set.name);
  for (std::string& name : others)
    if (!is_among(names, name)) names.push_back(std::move(name));
  return names;
}

base::Result<GroupPtr> ProcessSets::find(std::string_view name) {
  if (GroupPtr group = built_in(name)) return group;
  for (const auto& set : launcher_sets())
    if (same_pset_name(set.name, name)) return Group::of_ranks(set.ranks);
  for (const auto& set : user_sets_)
    if (set.name == name) return set.group;
  std::vector<std::string> known = names();
  std::string text = "there is no process set \"" + std::string(name) + "\"; there are";
  for (std::size_t i = 0; i < std::min(known.size(), kNamesInReport); ++i) text += (i ? ", " : " ") + known[i];
  if (known.size() > kNamesInReport) text += " and " + std::to_string(known.size() - kNamesInReport) + " more";
  return base::Error(base::ErrorClass::arg, std::move(text));
}

}  // namespace shim::sessions
