// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/process_sets.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "shim/base/files.hpp"
#include "shim/sessions/hardware_sets.hpp"
#include "shim/sessions/pset_names.hpp"

namespace shim::sessions {
namespace {

/// Names that the report of an unknown name lists.
constexpr std::size_t kNamesInReport = 24;

/// Return the application numbers, ascending; none if the launch has one application.
std::set<std::uint32_t> applications(const bootstrap::Bootstrap& bootstrap) {
  auto numbers = bootstrap.app_numbers();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

ProcessSets::ProcessSets(const base::Settings& settings, bootstrap::Bootstrap& bootstrap,
                         const base::Log& log)
    : bootstrap_(bootstrap), log_(log), published_(bootstrap) {
  read_user_sets(settings);
}

void ProcessSets::read_user_sets(const base::Settings& settings) {
  if (!settings.psets.empty())
    take(parse_psets(settings.psets, ';', bootstrap_.job().size), "INTERSESSION_PSETS");
  if (!settings.pset_file.empty()) read_file(settings.pset_file);
}

void ProcessSets::read_file(const std::string& path) {
  const auto text = base::read_file(path);
  if (!text) {
    log_.write(base::LogLevel::warn, "the process sets of INTERSESSION_PSET_FILE cannot be read: " +
                                         text.error().text() + "; they are ignored");
    return;
  }
  take(parse_psets(*text, '\n', bootstrap_.job().size), path);
}

void ProcessSets::take(PsetText text, const std::string& source) {
  for (const PsetTextError& error_text : text.complaints)
    log_.write(base::LogLevel::warn, "process sets: " + source + ", line " +
                                         std::to_string(error_text.line) + ", column " +
                                         std::to_string(error_text.column) + ": " +
                                         error_text.text + "; the set is ignored");
  for (NamedGroup& set : text.sets) {
    const bool is_new = user_sets_by_name_.try_emplace(set.name, set.group).second;
    if (!is_new)
      log_.write(base::LogLevel::warn,
                 "process sets: " + source + ": duplicate set \"" + set.name + "\"; ignored");
    else
      user_sets_.push_back(std::move(set));
  }
}

std::vector<NamedGroup> ProcessSets::sets_of_hardware() {
  if (hardware_ == nullptr) return {};
  std::lock_guard guard(mutex_);
  if (hardware_sets_.empty())
    hardware_sets_ = hardware_sets(*hardware_, bootstrap_.node_map(), bootstrap_.job().rank);
  return hardware_sets_;
}

std::vector<std::string> ProcessSets::built_in_names() {
  std::vector<std::string> names = {std::string(kWorldName), std::string(kSelfName),
                                    std::string(kSharedName)};
  const auto& nodes = bootstrap_.node_map();
  for (std::uint32_t node = 0; node < nodes.node_count(); ++node)
    names.push_back(std::string(kNodePrefix) + nodes.host(node));
  for (std::uint32_t app : applications(bootstrap_))
    names.push_back(std::string(kAppPrefix) + std::to_string(app));
  for (const NamedGroup& set : sets_of_hardware()) names.push_back(set.name);
  return names;
}

/// Null if no built-in set has this name.
GroupPtr ProcessSets::built_in(std::string_view name) {
  const bootstrap::Job& job = bootstrap_.job();
  const auto& nodes = bootstrap_.node_map();
  if (same_pset_name(name, kWorldName)) return Group::of_ranges({{0, 0, job.size, 1}});
  if (same_pset_name(name, kSelfName)) return Group::of_ranges({{0, job.rank, 1, 1}});
  if (same_pset_name(name, kSharedName))
    return Group::of_ranks(nodes.ranks_on(nodes.node_of(job.rank)));
  for (std::uint32_t node = 0; node < nodes.node_count(); ++node)
    if (same_pset_name(name, std::string(kNodePrefix) + nodes.host(node)))
      return Group::of_ranks(nodes.ranks_on(node));
  for (std::uint32_t app : applications(bootstrap_)) {
    if (!same_pset_name(name, std::string(kAppPrefix) + std::to_string(app))) continue;
    std::vector<std::uint32_t> ranks;
    auto numbers = bootstrap_.app_numbers();
    for (std::uint32_t rank = 0; rank < numbers.size(); ++rank)
      if (numbers[rank] == app) ranks.push_back(rank);
    return Group::of_ranks(ranks);
  }
  const std::string lower = lowered(name);
  if (!lower.starts_with(lowered(kNumaPrefix)) && !lower.starts_with(lowered(kSocketPrefix)))
    return nullptr;  // avoids the hardware discovery
  for (const NamedGroup& set : sets_of_hardware())
    if (same_pset_name(set.name, name)) return set.group;
  return nullptr;
}

/// Return the sets, or none after an error, which is logged once.
template <typename Sets>
Sets ProcessSets::log_and_ignore_error(base::Result<Sets> sets, bool& has_failed,
                                       std::string_view error_text) {
  if (sets) return *std::move(sets);
  std::lock_guard guard(mutex_);
  if (!std::exchange(has_failed, true))
    log_.write(base::LogLevel::warn, std::string(error_text) + ": " + sets.error().text());
  return {};
}

std::vector<bootstrap::NamedSet> ProcessSets::launcher_sets() {
  return log_and_ignore_error(bootstrap_.named_sets(), launcher_has_failed_,
                              "the launcher's process sets are unknown");
}

std::vector<NamedGroup> ProcessSets::published_sets() {
  return log_and_ignore_error(published_.sets(), store_has_failed_,
                              "the process sets that other processes have published are unknown");
}

std::vector<std::string> ProcessSets::names() {
  std::vector<std::string> names = built_in_names();
  std::vector<std::string> others;
  for (auto& set : launcher_sets()) others.push_back(std::move(set.name));
  for (const auto& set : user_sets_) others.push_back(set.name);
  for (const auto& set : published_sets()) others.push_back(set.name);
  std::unordered_set<std::string> known;
  for (const std::string& name : names) known.insert(canonical_pset_name(name));
  for (std::string& name : others)
    if (known.insert(canonical_pset_name(name)).second) names.push_back(std::move(name));
  return names;
}

/// Find among the unpublished sets; null if none has this name.
GroupPtr ProcessSets::find_unpublished(std::string_view name) {
  if (GroupPtr group = built_in(name)) return group;
  for (const auto& set : launcher_sets())
    if (same_pset_name(set.name, name)) return Group::of_ranks(set.ranks);
  const auto of_user = user_sets_by_name_.find(std::string(name));
  return of_user == user_sets_by_name_.end() ? nullptr : of_user->second;
}

base::Result<GroupPtr> ProcessSets::find(std::string_view name) {
  if (GroupPtr group = find_unpublished(name)) return group;
  if (GroupPtr group = published_.find_known(name)) return group;
  for (const auto& set : published_sets())
    if (set.name == name) return set.group;
  return unknown(name);
}

base::Error ProcessSets::unknown(std::string_view name) {
  std::vector<std::string> known = names();
  std::string text = "process set \"" + std::string(name) + "\" does not exist; available:";
  for (std::size_t i = 0; i < std::min(known.size(), kNamesInReport); ++i)
    text += (i ? ", " : " ") + known[i];
  if (known.size() > kNamesInReport)
    text += " and " + std::to_string(known.size() - kNamesInReport) + " more";
  return base::Error(base::ErrorClass::arg, std::move(text));
}

base::Status ProcessSets::publish(const std::string& name, const GroupPtr& group) {
  if (name.empty())
    return base::Error(base::ErrorClass::arg, "the name of the process set is empty");
  if (is_reserved_name(name))
    return base::Error(
        base::ErrorClass::arg,
        "the process set name \"" + name + "\" is reserved (mpi:// and mpix://); use another one");
  if (group->size() == 0)
    return base::Error(
        base::ErrorClass::group,
        "the process set \"" + name + "\" would be empty; pass a group with at least one process");
  if (std::ranges::any_of(group->ranges(),
                          [](const ProcessRange& range) { return range.world != 0; }))
    return base::Error(base::ErrorClass::group,
                       "the process set \"" + name +
                           "\" would contain processes of another MPI_COMM_WORLD; all processes of "
                           "a set must be of one job");
  if (const GroupPtr given = find_unpublished(name); given && !(*given == *group))
    return base::Error(base::ErrorClass::name,
                       "the process set \"" + name +
                           "\" is defined by the launcher or the user (INTERSESSION_PSETS, "
                           "INTERSESSION_PSET_FILE) as the processes " +
                           given->text() + "; it cannot also be published as " + group->text());
  return published_.publish(name, group);
}

}  // namespace shim::sessions
