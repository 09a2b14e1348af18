// SPDX-License-Identifier: BSD-3-Clause
// Members of one creation that called with different groups or different tags: each waits for the other in a creation of its
// own, and would do so for ever.
#include <algorithm>

#include "shim/base/thread_count.hpp"
#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

namespace {

// In the short form: both sides must fit into an MPI error string.
std::string us(const base::ProcessId& self) { return "process " + std::to_string(self.rank); }
std::string them(const Creation& mine, int rank) { return us(mine.group->at(rank)); }

}  // namespace

/// The same tag with another group that we are in as well, while we wait for a process (`rank` of our group) that waits there:
/// neither can be in both, because one tag is used by one call of a process at a time (MPI-4.1 §7.4.2). So it comes to ours only
/// when its own has ended, which needs us, who come only when ours has ended. If we are not in its group, it may come yet.
std::optional<std::string> Creations::disagree_on_group(const Creation& mine, const CreationKey& other, int rank) const {
  if (other.scope != mine.key.scope || other.tag != mine.key.tag || other == mine.key) return std::nullopt;
  const auto other_group = Group::of_ranges(other.ranges);
  if (other_group->rank_of(process_.self()) == kUndefined) return std::nullopt;
  return "members disagree on the group for tag \"" + other.tag + "\": " + us(process_.self()) + " has " +
         mine.group->text() + ", " + them(mine, rank) + " has " + other_group->text();
}

/// The same group with another tag. Each of the two processes may wait in the one and come to the other by another thread, however
/// late: so it is an error only where neither has other threads that may call, and is reported else.
static bool differs_by_tag(const CreationKey& mine, const CreationKey& other) {
  return other.scope == mine.scope && other.ranges == mine.ranges && other.tag != mine.tag;
}

/// Where there is no other thread there will be none: one that waits starts none.
bool Creations::another_may_call() const { return base::thread_count() != 1 && (several_threads_ || process_.has_several_threads()); }

std::string Creations::disagreement_on_tag(const Creation& mine, const CreationKey& other, int rank) const {
  return "members disagree on the tag over the group " + mine.group->text() + ": " + us(process_.self()) + " has \"" +
         mine.key.tag + "\", " + them(mine, rank) + " has \"" + other.tag + "\"";
}

/// The processes that are known to have called this creation.
static std::vector<Range> callers(const Creation& creation, std::optional<base::ProcessId> also) {
  std::vector<Range> ranges;
  auto add = [&](base::ProcessId process) { ranges.push_back({process.world, process.rank, 1, 1}); };
  for (int rank : creation.contributed) add(creation.group->at(rank));
  if (also) add(*also);
  return ranges;
}

/// Fail the other creation, in which this member waits. If this process is the root of it, it tells
/// all members that wait there; else that member does.
void Creations::end_elsewhere(const Creation& mine, const CreationKey& other, int rank,
                              const base::Error& error) {
  const Absent from_here{.elsewhere = callers(mine, process_.self()), .dead = {}};
  if (CreationPtr known = find(other); known && !known->joined && !known->is_over())
    return fail(known, error, {known->roles.self}, from_here);
  const Failure message{other, 0, error.error_class(), error.text(), from_here};
  send(mine, rank, message);
  remember(message, std::nullopt);
}

void Creations::end_both(const CreationPtr& mine, const CreationKey& other, int rank, const std::string& text) {
  const base::Error error(base::ErrorClass::not_same, text);
  Absent from_there{.elsewhere = {{0, mine->group->at(rank).rank, 1, 1}}, .dead = {}};
  if (CreationPtr known = find(other); known && !known->joined && !known->is_over())
    from_there.elsewhere = callers(*known, std::nullopt);
  end_elsewhere(*mine, other, rank, error);
  fail(mine, error, {mine->roles.self}, from_there);
}

/// Partners of ours that have contributed to another creation with this tag, in which they wait for us.
bool Creations::fail_for_disagreement(const CreationPtr& creation) {
  const auto missing = waited_for(*creation);
  for (const auto& [key, other] : creations_) {
    if (other->joined || other->is_over()) continue;
    for (int contributor : other->contributed) {
      const int rank = creation->group->rank_of(other->group->at(contributor));
      if (std::find(missing.begin(), missing.end(), rank) == missing.end()) continue;
      auto text = disagree_on_group(*creation, other->key, rank);
      if (!text) continue;
      const CreationPtr kept = other;  // the map changes when creations end
      end_both(creation, kept->key, rank, *text);
      return true;
    }
  }
  return false;
}

/// The disagreement that an answer shows, if it shows one, and the key of the other creation.
std::optional<std::pair<CreationKey, std::string>> Creations::disagreement_in(Creation& mine, int rank, const Answer& answer) {
  std::optional<CreationKey> suspect;
  for (const CreationKey& other : answer.waiting) {
    if (!is_plausible(other, mine.group->at(rank), false)) continue;
    if (auto text = disagree_on_group(mine, other, rank)) return std::pair(other, *std::move(text));
    if (!differs_by_tag(mine.key, other) || another_may_call() || answer.several_threads) continue;
    // Only if it is still so when asked again: that process may be in a creation that has failed, and not know it yet.
    const auto before = mine.suspects.find(rank);
    if (before != mine.suspects.end() && before->second == other) return std::pair(other, disagreement_on_tag(mine, other, rank));
    suspect = other;
  }
  if (suspect) mine.suspects.insert_or_assign(rank, *std::move(suspect));
  else mine.suspects.erase(rank);
  return std::nullopt;
}

/// Of several creations the one that tells most.
std::string Creations::where_it_waits(const Creation& mine, int rank, const Answer& answer) const {
  const auto by_tag = std::ranges::find_if(answer.waiting, [&](const CreationKey& other) { return differs_by_tag(mine.key, other); });
  const CreationKey& other = by_tag == answer.waiting.end() ? answer.waiting.front() : *by_tag;
  std::string text = "waits in the creation with tag \"" + other.tag + "\"";
  if (is_plausible(other, mine.group->at(rank), false)) text += " over " + Group::of_ranges(other.ranges)->text();
  if (by_tag != answer.waiting.end()) text += ", the same group with another tag: wrong, unless another thread comes to this one";
  return text;
}

bool Creations::is_in(const CreationKey& key) const {
  const CreationPtr known = find(key);
  return known && known->joined && !known->is_over();
}

/// Record that the member waits in a creation with another tag, or that it does not.
void Creations::note_stuck(Creation& mine, int rank, const Answer& answer) {
  const auto has_other_tag = [&](const CreationKey& key) { return differs_by_tag(mine.key, key); };
  const auto other = std::ranges::find_if(answer.waiting, has_other_tag);
  const bool is_elsewhere = answer.missing.empty() && other != answer.waiting.end() &&
                            is_plausible(*other, mine.group->at(rank), false);
  // if another thread of this process waits there, that creation may end, and the member come then
  if (!is_elsewhere || is_in(*other)) {
    mine.stuck.erase(rank);
    return;
  }
  const base::Nanoseconds now = base::now_ns();
  Creation::Stuck& stuck = mine.stuck[rank];
  stuck.elsewhere = *other;
  stuck.since = std::max(mine.started, now - base::Nanoseconds{answer.quiet_ms} * 1'000'000);
  stuck.until = now;
}

void Creations::handle(base::ProcessId from, Answer message) {
  CreationPtr creation = find(message.asked);
  if (!creation || !creation->joined || creation->is_over()) return;
  const int rank = creation->group->rank_of(from);
  const auto missing = waited_for(*creation);
  if (std::find(missing.begin(), missing.end(), rank) == missing.end()) return;
  auto& [heard, when] = creation->heard[rank];
  when = base::now_ns();
  note_stuck(*creation, rank, message);
  if (!message.missing.empty()) {
    heard = "has called and waits for " + message.missing;
  } else if (auto found = disagreement_in(*creation, rank, message)) {
    end_both(creation, found->first, rank, found->second);
  } else if (message.waiting.empty()) {
    heard = "has a session, but is not in any creation";
  } else {
    heard = where_it_waits(*creation, rank, message);
  }
}

}  // namespace shim::sessions
