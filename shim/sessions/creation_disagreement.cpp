// SPDX-License-Identifier: BSD-3-Clause
// Detects members that called one creation with different groups, topologies or tags. Each would
// otherwise wait forever in its own creation.
#include <algorithm>

#include "shim/base/thread_count.hpp"
#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

namespace {

// Return a short form: both sides must fit into an MPI error string.
std::string process_text(const base::ProcessId& self) {
  return "process " + std::to_string(self.rank);
}
std::string member_text(const TrackedCreation& mine, int rank) {
  return process_text(mine.group()->at(rank));
}

}  // namespace

/// Return error text if `rank`, which is in the other creation, can never join this one: the tags
/// are equal, the groups or the topologies differ, and the other group contains this process. A
/// process uses a tag in one call at a time (MPI-4.1 §7.4.2), so both processes wait for each other
/// to leave their creations. If the other group does not contain this process, the member may still
/// join.
std::optional<std::string> Creations::disagree_on_group(const TrackedCreation& mine,
                                                        const CreationKey& other, int rank) const {
  if (other.scope != mine.key().scope || other.tag != mine.key().tag || other == mine.key())
    return std::nullopt;
  const auto other_group = Group::of_ranges(other.ranges);
  if (other_group->rank_of(process_.self()) == kUndefined) return std::nullopt;
  if (other.topology != mine.key().topology) return disagreement_on_topology(mine, other, rank);
  return "members disagree on the group for tag \"" + other.tag +
         "\": " + process_text(process_.self()) + " has " + mine.group()->text() + ", " +
         member_text(mine, rank) + " has " + other_group->text();
}

std::string Creations::disagreement_on_topology(const TrackedCreation& mine,
                                                const CreationKey& other, int rank) const {
  const auto describe = [](const CreationKey& key) {
    return (key.topology.empty() ? "no topology" : key.topology) + " over " +
           Group::of_ranges(key.ranges)->text();
  };
  return "members disagree on the topology for tag \"" + other.tag +
         "\": " + process_text(process_.self()) + " has " + describe(mine.key()) + ", " +
         member_text(mine, rank) + " has " + describe(other);
}

/// True if the groups are equal and the tags differ. That is an error only if neither process has
/// another thread that may call. Otherwise it is only reported, because the other thread may join
/// the creation, however late.
static bool differs_by_tag(const CreationKey& mine, const CreationKey& other) {
  return other.scope == mine.scope && other.ranges == mine.ranges && other.tag != mine.tag;
}

/// True if another thread exists and may call. A waiting thread starts none, so false is final.
bool Creations::another_may_call() const {
  return base::thread_count() != 1 && (several_threads_ || process_.has_several_threads());
}

std::string Creations::disagreement_on_tag(const TrackedCreation& mine, const CreationKey& other,
                                           int rank) const {
  return "members disagree on the tag over the group " + mine.group()->text() + ": " +
         process_text(process_.self()) + " has \"" + mine.key().tag + "\", " +
         member_text(mine, rank) + " has \"" + other.tag + "\"";
}

/// Return the processes known to have called this creation.
static std::vector<ProcessRange> callers(const TrackedCreation& creation,
                                         std::optional<base::ProcessId> also) {
  std::vector<ProcessRange> ranges;
  auto add = [&](base::ProcessId process) {
    ranges.push_back({process.world, process.rank, 1, 1});
  };
  for (int rank : creation.contributed()) add(creation.group()->at(rank));
  if (also) add(*also);
  return ranges;
}

/// Fail the other creation, in which `rank` waits. If contributions to it wait in this process,
/// this process notifies all members that wait there; else that member does.
void Creations::fail_other(const TrackedCreation& mine, const CreationKey& other, int rank,
                           const base::Error& error) {
  const ExcludedMembers from_here{.elsewhere = callers(mine, process_.self()), .dead = {}};
  if (CreationPtr known = find(other); known && known->state() == CreationState::announced)
    return fail(known, error, {known->roles().self}, from_here);
  const FailureMessage message{other, 0, error.error_class(), error.text(), from_here};
  send(mine, rank, message);
  record_failure(message, std::nullopt);
}

void Creations::fail_both(const CreationPtr& mine, const CreationKey& other, int rank,
                          const std::string& text) {
  const base::Error error(base::ErrorClass::not_same, text);
  ExcludedMembers from_there{.elsewhere = {{0, mine->group()->at(rank).rank, 1, 1}}, .dead = {}};
  if (CreationPtr known = find(other); known && known->state() == CreationState::announced)
    from_there.elsewhere = callers(*known, std::nullopt);
  fail_other(*mine, other, rank, error);
  fail(mine, error, {mine->roles().self}, from_there);
}

/// Fail this creation if partners contributed to another creation with an equal tag and wait there
/// for this process.
bool Creations::fail_on_disagreement(const CreationPtr& creation) {
  const auto missing = creation->missing_members();
  for (const auto& [key, other] : creations_) {
    if (other->state() != CreationState::announced) continue;
    for (int contributor : other->contributed()) {
      const int rank = creation->group()->rank_of(other->group()->at(contributor));
      if (std::find(missing.begin(), missing.end(), rank) == missing.end()) continue;
      auto text = disagree_on_group(*creation, other->key(), rank);
      if (!text) continue;
      const CreationPtr kept = other;  // the map changes when creations end
      fail_both(creation, kept->key(), rank, *text);
      return true;
    }
  }
  return false;
}

/// Return the disagreement that a reply shows, if any, and the key of the other creation.
std::optional<std::pair<CreationKey, std::string>> Creations::disagreement_in(
    TrackedCreation& mine, int rank, const StatusReply& reply) {
  std::optional<CreationKey> suspect;
  for (const CreationKey& other : reply.waiting) {
    if (!is_plausible(other, mine.group()->at(rank), false)) continue;
    if (auto text = disagree_on_group(mine, other, rank)) return std::pair(other, *std::move(text));
    if (!differs_by_tag(mine.key(), other) || another_may_call() || reply.several_threads) continue;
    // Fail only if a second reply confirms it: that process may be in a creation that has failed
    // without its knowledge.
    const auto before = mine.suspects.find(rank);
    if (before != mine.suspects.end() && before->second == other)
      return std::pair(other, disagreement_on_tag(mine, other, rank));
    suspect = other;
  }
  if (suspect)
    mine.suspects.insert_or_assign(rank, *std::move(suspect));
  else
    mine.suspects.erase(rank);
  return std::nullopt;
}

/// Return text about one creation in which the member waits: one that differs by tag, else the
/// first.
std::string Creations::describe_wait(const TrackedCreation& mine, int rank,
                                     const StatusReply& reply) const {
  const auto by_tag = std::ranges::find_if(
      reply.waiting, [&](const CreationKey& other) { return differs_by_tag(mine.key(), other); });
  const CreationKey& other = by_tag == reply.waiting.end() ? reply.waiting.front() : *by_tag;
  std::string text = "waits in the creation with tag \"" + other.tag + "\"" +
                     (other.topology.empty() ? "" : " (" + other.topology + ")");
  if (is_plausible(other, mine.group()->at(rank), false))
    text += " over " + Group::of_ranges(other.ranges)->text();
  if (by_tag != reply.waiting.end())
    text +=
        ", the same group with another tag: an error, unless another thread joins this creation";
  return text;
}

/// True if a thread of this process waits in that creation.
bool Creations::is_in(const CreationKey& key) const {
  const CreationPtr known = find(key);
  return known && known->is_waiting();
}

/// Record whether the member waits in a creation of the same group with another tag.
void Creations::record_stuck(TrackedCreation& mine, int rank, const StatusReply& reply) {
  const auto has_other_tag = [&](const CreationKey& key) {
    return differs_by_tag(mine.key(), key);
  };
  const auto other = std::ranges::find_if(reply.waiting, has_other_tag);
  const bool is_elsewhere = reply.missing.empty() && other != reply.waiting.end() &&
                            is_plausible(*other, mine.group()->at(rank), false);
  // another thread of this process in that creation may end it, so that the member can join
  if (!is_elsewhere || is_in(*other)) {
    mine.stuck_members.erase(rank);
    return;
  }
  const base::Nanoseconds now = base::now_ns();
  TrackedCreation::StuckMember& stuck = mine.stuck_members[rank];
  stuck.elsewhere = *other;
  stuck.since = std::max(mine.started(), now - base::Nanoseconds{reply.quiet_ms} * 1'000'000);
  stuck.until = now;
}

void Creations::handle(base::ProcessId from, StatusReply message) {
  CreationPtr creation = find(message.asked);
  if (!creation || !creation->is_waiting()) return;
  const int rank = creation->group()->rank_of(from);
  const auto missing = creation->missing_members();
  if (std::find(missing.begin(), missing.end(), rank) == missing.end()) return;
  auto& [state, when] = creation->last_replies[rank];
  when = base::now_ns();
  record_stuck(*creation, rank, message);
  if (!message.missing.empty()) {
    state = "has called and waits for " + message.missing;
  } else if (auto found = disagreement_in(*creation, rank, message)) {
    fail_both(creation, found->first, rank, found->second);
  } else if (message.waiting.empty()) {
    state = "has a session, but is not in any creation";
  } else {
    state = describe_wait(*creation, rank, message);
  }
}

}  // namespace shim::sessions
