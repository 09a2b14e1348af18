// SPDX-License-Identifier: BSD-3-Clause
// Members of one creation that called with different groups or different tags: each waits for the other in a creation of its
// own, and would do so for ever.
#include <algorithm>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

/// Does it disagree with us if a process that we wait for (`rank` of our group) waits in the other creation?
///
/// The same tag with another group that we are in as well: yes. Neither process can be in both, because one tag is used by one
/// call of a process at a time (MPI-4.1 §7.4.2). So it comes to ours only when its own has ended, which needs us, who come only
/// when ours has ended. If we are not in its group, it may come yet.
/// The same group with another tag: only where both processes create from one thread each; else another thread may come yet.
std::optional<std::string> Creations::disagreement(const Creation& mine, const CreationKey& other, int rank,
                                                   bool other_threads) const {
  if (other.scope != mine.key.scope || other == mine.key) return std::nullopt;
  const auto other_group = Group::of_ranges(other.ranges);
  const std::string us = "process " + std::to_string(process_.self().rank);
  // the short form: both sides must fit into an MPI error string
  const std::string them = "process " + std::to_string(mine.group->at(rank).rank);
  if (other.tag == mine.key.tag && other_group->rank_of(process_.self()) != kUndefined)
    return "members disagree on the group for tag \"" + other.tag + "\": " + us + " has " +
           mine.group->text() + ", " + them + " has " + other_group->text();
  if (*other_group == *mine.group && !several_threads_ && !other_threads)
    return "members disagree on the tag over the group " + mine.group->text() + ": " + us + " has \"" +
           mine.key.tag + "\", " + them + " has \"" + other.tag + "\"";
  return std::nullopt;
}

bool Creations::end_if_they_disagree(const CreationPtr& mine, const CreationKey& other, int rank, bool other_threads) {
  auto text = disagreement(*mine, other, rank, other_threads);
  if (!text) return false;
  const base::Error error(base::ErrorClass::not_same, *text);
  // The other creation cannot end either. All who wait in it are told: by us where we are its root, else by that process.
  // Whoever is told there has been told of this one.
  std::set<int> told = {mine->roles.self, rank};
  if (CreationPtr known = find(other); known && !known->joined && !known->is_over()) {
    for (int contributor : known->contributed) told.insert(mine->group->rank_of(known->group->at(contributor)));
    fail(known, error, {known->roles.self});
  } else {
    send(*mine, rank, Failure{other, 0, error.error_class(), error.text()});
  }
  fail(mine, error, std::move(told));
  return true;
}

/// Partners of ours that have contributed to another creation with this tag, in which they wait for us.
bool Creations::fail_for_disagreement(const CreationPtr& creation) {
  const auto missing = waited_for(*creation);
  for (const auto& [bytes, other] : creations_) {
    if (other->joined || other->is_over() || other->key.tag != creation->key.tag) continue;
    for (int contributor : other->contributed) {
      const int rank = creation->group->rank_of(other->group->at(contributor));
      if (std::find(missing.begin(), missing.end(), rank) == missing.end()) continue;
      const CreationPtr kept = other;  // the map changes when creations end
      if (end_if_they_disagree(creation, kept->key, rank, true)) return true;
    }
  }
  return false;
}

void Creations::handle(base::ProcessId from, Answer message) {
  CreationPtr creation = find(message.asked);
  if (!creation || !creation->joined || creation->is_over()) return;
  const int rank = creation->group->rank_of(from);
  const auto missing = waited_for(*creation);
  if (std::find(missing.begin(), missing.end(), rank) == missing.end()) return;
  std::string& heard = creation->heard[rank];
  if (!message.missing.empty()) {
    heard = "has called and waits for " + message.missing;
    return;
  }
  for (const CreationKey& other : message.waiting)
    if (is_plausible(other, from) && end_if_they_disagree(creation, other, rank, message.several_threads)) return;
  heard = message.waiting.empty() ? "has a session, but is not in any creation"
                                  : "waits in the creation with tag \"" + message.waiting.front().tag + "\" over " +
                                        Group::of_ranges(message.waiting.front().ranges)->text();
}

}  // namespace shim::sessions
