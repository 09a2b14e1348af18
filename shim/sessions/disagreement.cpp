// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/disagreement.hpp"

#include <algorithm>
#include <utility>

#include "shim/base/thread_count.hpp"
#include "shim/sessions/caller_threads.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

// Return a short form: both sides must fit into an MPI error string.
static std::string process_text(const base::ProcessId& process) {
  return "process " + std::to_string(process.rank);
}

bool differs_by_tag(const CreationKey& mine, const CreationKey& other) {
  return other.scope == mine.scope && other.ranges == mine.ranges && other.tag != mine.tag;
}

bool another_may_call(const Process& process, const CallerThreads& threads) {
  return base::thread_count() != 1 && (threads.are_several() || process.threads().are_several());
}

std::vector<ProcessRange> callers_of(const Creation& creation) {
  std::vector<ProcessRange> ranges;
  for (int rank : creation.contributed()) {
    const base::ProcessId process = creation.process_at(rank);
    ranges.push_back({process.world, process.rank, 1, 1});
  }
  return ranges;
}

/// Return error text if `rank`, which is in the other creation, can never join this one: the tags
/// are equal, the groups or the topologies differ, and the other group contains this process. A
/// process uses a tag in one call at a time (MPI-4.1 §7.4.2), so both processes wait for each other
/// to leave their creations. If the other group does not contain this process, the member may still
/// join.
std::optional<std::string> Disagreement::disagree_on_group(const CreationKey& other,
                                                           int rank) const {
  const Creation& mine = context_.creation;
  if (other.scope != mine.key().scope || other.tag != mine.key().tag || other == mine.key())
    return std::nullopt;
  const auto other_group = Group::of_ranges(other.ranges);
  if (other_group->rank_of(context_.process.self()) == kUndefined) return std::nullopt;
  if (other.topology != mine.key().topology) return disagreement_on_topology(other, rank);
  return "members disagree on the group for tag \"" + other.tag +
         "\": " + process_text(context_.process.self()) + " has " + mine.group()->text() + ", " +
         process_text(mine.process_at(rank)) + " has " + other_group->text();
}

std::string Disagreement::disagreement_on_topology(const CreationKey& other, int rank) const {
  const Creation& mine = context_.creation;
  const auto describe = [](const CreationKey& key) {
    return (key.topology.empty() ? "no topology" : key.topology) + " over " +
           Group::of_ranges(key.ranges)->text();
  };
  return "members disagree on the topology for tag \"" + other.tag +
         "\": " + process_text(context_.process.self()) + " has " + describe(mine.key()) + ", " +
         process_text(mine.process_at(rank)) + " has " + describe(other);
}

std::string disagreement_on_tag(const WatchContext& context, const CreationKey& other, int rank) {
  const Creation& mine = context.creation;
  return "members disagree on the tag over the group " + mine.group()->text() + ": " +
         process_text(context.process.self()) + " has \"" + mine.key().tag + "\", " +
         process_text(mine.process_at(rank)) + " has \"" + other.tag + "\"";
}

Finding Disagreement::finding(const CreationKey& other, int rank, const std::string& text) const {
  const CreationPtr known = context_.registry.find(other);
  const bool waits_for_us = known && known->state() == CreationState::announced;
  const ProcessRange member{0, context_.creation.process_at(rank).rank, 1, 1};
  return {.error = base::Error(base::ErrorClass::not_same, text),
          .excluded = {.elsewhere = waits_for_us ? callers_of(*known) : std::vector{member},
                       .dead = {}},
          .elsewhere = {{rank, other}}};
}

std::optional<Finding> Disagreement::find_here() const {
  const Creation& mine = context_.creation;
  const auto missing = mine.missing_members();
  for (const CreationPtr& other : context_.registry.in_state(CreationState::announced)) {
    for (int contributor : other->contributed()) {
      const int rank = mine.group()->rank_of(other->process_at(contributor));
      if (std::ranges::find(missing, rank) == missing.end()) continue;
      if (auto text = disagree_on_group(other->key(), rank))
        return finding(other->key(), rank, *text);
    }
  }
  return std::nullopt;
}

std::optional<Finding> Disagreement::find_in(int rank, const StatusReply& reply) {
  const Creation& mine = context_.creation;
  std::optional<CreationKey> suspect;
  for (const CreationKey& other : reply.waiting) {
    if (!context_.registry.is_plausible(other, mine.process_at(rank), false)) continue;
    if (auto text = disagree_on_group(other, rank)) return finding(other, rank, *text);
    if (!differs_by_tag(mine.key(), other) || reply.several_threads ||
        another_may_call(context_.process, context_.threads))
      continue;
    // Fail only if a second reply confirms it: that process may be in a creation that has failed
    // without its knowledge.
    const auto before = suspects_.find(rank);
    if (before != suspects_.end() && before->second == other)
      return finding(other, rank, disagreement_on_tag(context_, other, rank));
    suspect = other;
  }
  if (suspect)
    suspects_.insert_or_assign(rank, *std::move(suspect));
  else
    suspects_.erase(rank);
  return std::nullopt;
}

std::string Disagreement::describe_wait(int rank, const StatusReply& reply) const {
  const Creation& mine = context_.creation;
  const auto by_tag = std::ranges::find_if(
      reply.waiting, [&](const CreationKey& other) { return differs_by_tag(mine.key(), other); });
  const CreationKey& other = by_tag == reply.waiting.end() ? reply.waiting.front() : *by_tag;
  std::string text = "waits in the creation with tag \"" + other.tag + "\"" +
                     (other.topology.empty() ? "" : " (" + other.topology + ")");
  if (context_.registry.is_plausible(other, mine.process_at(rank), false))
    text += " over " + Group::of_ranges(other.ranges)->text();
  if (by_tag != reply.waiting.end())
    text +=
        ", the same group with another tag: an error, unless another thread joins this creation";
  return text;
}

}  // namespace shim::sessions
