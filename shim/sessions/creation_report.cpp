// SPDX-License-Identifier: BSD-3-Clause
// A creation that takes long: who is missing, who is dead, who waits elsewhere; and when to give up.
#include <algorithm>
#include <cstdio>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

constexpr base::Nanoseconds kLookEvery = 50'000'000;
/// A report names so many and counts the rest.
constexpr std::size_t kMostNames = 16;
/// What a level of the tree, or a member below its root, waits longer than those it waits for, so that the one that knows who
/// is missing is the one that says it.
constexpr double kGracePerLevel = 0.5;

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

}  // namespace

std::vector<int> Creations::waited_for(const Creation& creation) const {
  const auto& roles = creation.roles;
  if (!roles.is_root()) return {roles.root};
  if (creation.sent_up) return {*roles.parent};
  std::vector<int> missing;
  for (const auto* partners : {&roles.local, &roles.children})
    for (int rank : *partners)
      if (!creation.contributed.contains(rank)) missing.push_back(rank);
  if (creation.search && roles.parent) missing.push_back(*roles.parent);
  return missing;
}

std::string Creations::describe(const Creation& creation, int rank) const {
  const base::ProcessId process = creation.group->at(rank);
  const auto& nodes = process_.bootstrap().node_map();
  std::string text = "process " + std::to_string(process.rank) + " (rank " + std::to_string(rank) + " of the group, node " +
                     nodes.host(nodes.node_of(process.rank));
  if (process_.is_local(process) && !process_.has_session(process)) text += ", has no session";
  return text + ")";
}

std::string Creations::describe_missing(const Creation& creation) const {
  const auto missing = waited_for(creation);
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), kMostNames); ++i)
    text += (i ? ", " : "") + describe(creation, missing[i]);
  if (missing.size() > kMostNames) text += " and " + std::to_string(missing.size() - kMostNames) + " more";
  return text.empty() ? "nobody in particular: the launcher" : text;
}

bool Creations::fail_for_the_dead(const CreationPtr& creation) {
  for (int rank : waited_for(*creation)) {
    if (process_.is_running(creation->group->at(rank))) continue;
    fail(creation,
         base::Error(base::ErrorClass::proc_aborted, "the creation with tag \"" + creation->key.tag + "\" cannot end: " +
                                                         describe(*creation, rank) + " is no longer running"),
         {creation->roles.self});
    return true;
  }
  return false;
}

double Creations::patience(const Creation& creation) const {
  const auto& roles = creation.roles;
  double seconds = process_.settings().create_timeout + kGracePerLevel * roles.height;
  // whoever has passed on what it had waits for the whole tree
  if (!roles.is_root() || creation.sent_up) seconds += kGracePerLevel * 24;
  return seconds;
}

void Creations::look_after(const CreationPtr& creation) {
  const base::Nanoseconds now = base::now_ns();
  if (now < creation->next_look) return;
  creation->next_look = now + kLookEvery;
  if (fail_for_the_dead(creation)) return;

  const auto& settings = process_.settings();
  const double waited = static_cast<double>(now - creation->started) * 1e-9;
  if (settings.create_timeout > 0 && waited > patience(*creation)) {
    fail(creation,
         base::Error(base::ErrorClass::other, "the creation with tag \"" + creation->key.tag + "\" over the group " +
                                                  creation->group->text() + " was given up after " +
                                                  seconds_text(settings.create_timeout) +
                                                  " (INTERSESSION_CREATE_TIMEOUT); not arrived: " +
                                                  describe_missing(*creation) + creation->heard),
         {creation->roles.self});
    return;
  }
  if (settings.report_after <= 0) return;
  const auto interval = static_cast<base::Nanoseconds>(settings.report_after * 1e9);
  if (creation->next_report == 0) creation->next_report = creation->started + interval;
  if (now < creation->next_report) return;
  creation->next_report = now + interval;
  process_.log().write(base::LogLevel::warn, "the creation with tag \"" + creation->key.tag + "\" over the group " +
                                                 creation->group->text() + " has waited " + seconds_text(waited) +
                                                 " for " + describe_missing(*creation) + creation->heard);
  for (int rank : waited_for(*creation)) {
    const base::ProcessId process = creation->group->at(rank);
    // one that nothing can be sent to yet cannot answer either
    const bool reachable = process_.is_local(process) ? process_.has_session(process) : process_.knows_address(process);
    if (reachable) send(process, Question{creation->key});
  }
}

std::optional<std::string> Creations::disagreement(const Creation& mine, const CreationKey& other, int rank,
                                                   bool other_threads) const {
  if (other.scope != mine.key.scope || other == mine.key) return std::nullopt;
  const auto other_group = Group::of_ranges(other.ranges);
  const std::string us = "process " + std::to_string(process_.self().rank);
  const std::string them = describe(mine, rank);
  if (other.tag == mine.key.tag && other_group->rank_of(process_.self()) != kUndefined)
    return "the members disagree on the group of the creation with tag \"" + other.tag + "\": " + us + " has " +
           mine.group->text() + ", " + them + " has " + other_group->text();
  // Different tags over one group are legal from several threads: another thread of either may still come.
  if (*other_group == *mine.group && !several_threads_ && !other_threads)
    return "the members disagree on the tag of a creation over the group " + mine.group->text() + ": " + us + " has \"" +
           mine.key.tag + "\", " + them + " has \"" + other.tag + "\"";
  return std::nullopt;
}

void Creations::handle(base::ProcessId from, Answer message) {
  CreationPtr creation = find(message.asked);
  if (!creation || !creation->joined || creation->is_over()) return;
  const int rank = creation->group->rank_of(from);
  const auto missing = waited_for(*creation);
  if (std::find(missing.begin(), missing.end(), rank) == missing.end()) return;
  if (std::find(message.waiting.begin(), message.waiting.end(), message.asked) != message.waiting.end()) return;
  for (const CreationKey& other : message.waiting) {
    auto text = disagreement(*creation, other, rank, message.several_threads);
    if (!text) continue;
    const base::Error error(base::ErrorClass::not_same, *text);
    // The other creation cannot end either. All who wait in it are told: by us where we are its root, else by the one that
    // answered. Whoever is told there has been told of this one.
    std::set<int> told = {creation->roles.self, rank};
    if (CreationPtr known = find(other); known && !known->joined && !known->is_over()) {
      for (int contributor : known->contributed) told.insert(creation->group->rank_of(known->group->at(contributor)));
      fail(known, error, {known->roles.self});
    } else {
      send(from, Failure{other, error.error_class(), error.text()});
    }
    fail(creation, error, std::move(told));
    return;
  }
  creation->heard = message.waiting.empty()
                        ? "; process " + std::to_string(from.rank) + " has a session, but is not in any creation"
                        : "; process " + std::to_string(from.rank) + " waits in the creation with tag \"" +
                              message.waiting.front().tag + "\" over " +
                              Group::of_ranges(message.waiting.front().ranges)->text();
}

}  // namespace shim::sessions
