// SPDX-License-Identifier: BSD-3-Clause
// A creation that takes long: who is missing, who is dead; when to say so, and when to give up.
#include <algorithm>
#include <utility>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// So long before a report the missing are asked, if it is not sooner than half of the time between two reports.
constexpr base::Nanoseconds kAskedBefore = 1'000'000'000;
/// A creation that has waited for this long looks for the processes of missing members in /proc: a
/// scan takes some ms.
constexpr base::Nanoseconds kSearchedAfter = 300'000'000;
/// So often the missing are asked where there are no reports.
constexpr base::Nanoseconds kAskedEvery = 10'000'000'000;
/// So long after its beginning it is checked whether the processes of the node share their memory, and then at this interval: a
/// check looks at all processes of the node. The creation fails some checks later, so that the other side sees this one, too.
constexpr base::Nanoseconds kMemoryCheckedAfter = 500'000'000, kMemoryCheckedEvery = 1'000'000'000, kMemoryGrace = 2'500'000'000;
/// What a level of the tree, or a member below its root, waits longer than those it waits for, so that the one that knows who
/// is missing is the one that says it: a part of the time-out, and at most so many seconds.
constexpr double kGracePart = 0.25, kMostGrace = 0.5;

/// Notes that a process keeps.
constexpr std::size_t kMostNotes = 32;

}  // namespace

std::vector<int> Creations::waited_for(const Creation& creation) const {
  const auto& roles = creation.roles;
  if (!roles.is_root()) return {roles.root};
  if (creation.sent_up) return {*roles.parent};
  std::vector<int> missing;
  for (const auto* partners : {&roles.local, &roles.children})
    for (int rank : *partners)
      if (!creation.contributed.contains(rank)) missing.push_back(rank);
  if (missing.empty() && roles.parent) missing.push_back(*roles.parent);
  return missing;
}

void Creations::look_after(const CreationPtr& creation) {
  const base::Nanoseconds now = base::now_ns();
  if (now < creation->next_look) return;
  creation->next_look = now + kLookEvery;
  pass_notes_on();
  const double waited = static_cast<double>(now - creation->started) * 1e-9;
  if (fail_for_the_dead(creation) || fail_for_disagreement(creation)) return;
  if (fail_for_the_stuck(creation) || fail_for_the_late(creation, waited)) return;
  if (fail_for_other_shared_memory(creation, now)) return;
  ask_who_was_found(*creation);
  report_when_due(*creation, now);
}

bool Creations::fail_for_the_dead(const CreationPtr& creation) {
  if (process_.has_lost_launcher()) {
    fail(creation, Error(ErrorClass::proc_aborted, name_of(*creation) + " cannot end: the launcher of this job is gone"),
         {creation->roles.self});
    return true;
  }
  for (int rank : waited_for(*creation)) {
    if (!has_ended(*creation, rank)) continue;
    // what it said before it ended may lie here unread: who has been away from its core looks here before it reads
    if (std::exchange(creation->found_dead, rank) != rank) return false;
    const Error error(ErrorClass::proc_aborted,
                      name_of(*creation) + " cannot end: " + describe(*creation, rank) + " is no longer running");
    const Absent absent{.elsewhere = {}, .dead = {{0, creation->group->at(rank).rank, 1, 1}}};
    if (!creation->roles.is_root()) tell_instead_of_root(*creation, error, absent);
    fail(creation, error, {creation->roles.self}, absent);
    return true;
  }
  return false;
}

bool Creations::has_ended(Creation& creation, int rank) {
  const base::ProcessId process = creation.group->at(rank);
  if (process_.is_local(process)) {
    if (!process_.is_running(process)) return true;
    const base::Nanoseconds waited = base::now_ns() - creation.started;
    return waited >= kSearchedAfter && process_.ended_before_attaching(process);
  }
  if (process_.is_out_of_reach(process)) return inquiry_says_ended(creation, rank, *process_.known_life(process));
  creation.inquiries.erase(rank);
  return false;
}

bool Creations::inquiry_says_ended(Creation& creation, int rank, std::uint32_t life) {
  const base::ProcessId process = creation.group->at(rank);
  auto known = creation.inquiries.find(rank);
  if (known != creation.inquiries.end() && known->second.life() != life) creation.inquiries.erase(rank);
  const double silence = process_.has_published(process, life) ? process_.settings().ready_timeout : 0;
  Inquiry& inquiry = creation.inquiries.try_emplace(rank, process_.bootstrap(), process.rank, life, silence).first->second;
  if (auto newer = inquiry.newer()) {
    (void)process_.learn_found(process, *newer);  // what is no address changes nothing
    return false;
  }
  return inquiry.poll() == Inquiry::Finding::has_ended;
}

/// The node's root is dead, and only this node knows. The first of its members that lives tells those whom the root would have
/// told: its parent, and the roots below it. (That one message too many meets a later creation by the same key does no harm:
/// that creation cannot succeed either.)
void Creations::tell_instead_of_root(const Creation& creation, const base::Error& error, const Absent& absent) {
  const auto& group = *creation.group;
  const auto of_root = roles_in(group, group.at(creation.roles.root), process_.creation_ground());
  // a member that has no session cannot, whether it lives or not
  const auto first = std::find_if(of_root.local.begin(), of_root.local.end(), [&](int rank) {
    return process_.has_session(group.at(rank)) && process_.is_running(group.at(rank));
  });
  if (first == of_root.local.end() || *first != creation.roles.self) return;
  std::vector<int> others = of_root.children;
  if (of_root.parent) others.push_back(*of_root.parent);
  for (int rank : others) note(group.at(rank), {creation.key, 0, error.error_class(), error.text(), absent});
}

/// To be told of a failure, once its address is found: where it has not called yet, after it has.
void Creations::note(base::ProcessId to, Failure message) {
  notes_.push_back({to, std::move(message), process_.look_for(to), base::now_ns()});
  if (notes_.size() > kMostNotes) notes_.pop_front();
}

void Creations::pass_notes_on() {
  std::erase_if(notes_, [&](Note& note) {
    if (!process_.known_life(note.to)) {
      auto found = note.lookup.poll();
      if (!found) return true;  // the launcher does not know: nothing more to be done
      if (!*found) return false;
      if (!process_.learn_found(note.to, **found)) return true;
    }
    send(note.to, note.message);
    const CreationPtr failed = find(note.message.key);
    if (failed && failed->failure) note_told(failed, failed->group->rank_of(note.to));
    return true;
  });
}

bool Creations::fail_for_the_late(const CreationPtr& creation, double waited) {
  const auto& roles = creation->roles;
  const double timeout = process_.settings().create_timeout;
  // whoever has passed on what it had waits for the whole tree
  const int levels = !roles.is_root() || creation->sent_up ? roles.tree_height + 1 : roles.height;
  if (timeout <= 0 || waited <= timeout + std::min(kGracePart * timeout, kMostGrace) * levels) return false;
  fail(creation,
       Error(ErrorClass::other, name_of(*creation) + " was given up after " + seconds_text(timeout) +
                                    " (INTERSESSION_CREATE_TIMEOUT); not arrived: " + describe_missing(*creation)),
       {roles.self});
  return true;
}

/// A process of this node that never attaches may have attached to shared memory of its own: neither would ever find the other.
bool Creations::fail_for_other_shared_memory(const CreationPtr& creation, base::Nanoseconds now) {
  if (creation->next_memory_check == 0) creation->next_memory_check = creation->started + kMemoryCheckedAfter;
  if (now < creation->next_memory_check) return false;
  creation->next_memory_check = now + kMemoryCheckedEvery;
  const auto missing = waited_for(*creation);
  const auto absent = std::ranges::find_if(missing, [&](int rank) {
    const base::ProcessId process = creation->group->at(rank);
    return process_.is_local(process) && !process_.has_session(process);
  });
  if (absent == missing.end()) return false;
  if (creation->other_memory_since == 0 && process_.sees_other_shared_memory()) creation->other_memory_since = now;
  if (creation->other_memory_since == 0 || now < creation->other_memory_since + kMemoryGrace) return false;
  fail(creation,
       Error(ErrorClass::other, describe(*creation, *absent) + " cannot be reached: processes of this node have different " +
                                    process_.shared_memory_folder() + "; give them one, or set INTERSESSION_TRANSPORT=fabric"),
       {creation->roles.self});
  return true;
}

/// Asked they are also for their own sake: who is called where nobody is any more is found out (has_ended).
void Creations::report_when_due(Creation& creation, base::Nanoseconds now) {
  const bool is_reported = process_.settings().report_after > 0;
  const auto interval = is_reported ? static_cast<base::Nanoseconds>(process_.settings().report_after * 1e9) : kAskedEvery;
  const base::Nanoseconds ahead = std::min(kAskedBefore, interval / 2);
  if (creation.next_report == 0) {
    creation.next_report = creation.started + interval;
    creation.next_question = creation.next_report - ahead;
  }
  if (now >= creation.next_question) {
    creation.next_question += interval;
    ask_the_missing(creation);
  }
  if (now < creation.next_report) return;
  creation.next_report = now + interval;
  creation.next_question = creation.next_report - ahead;
  if (!is_reported) return;
  const double waited = static_cast<double>(now - creation.started) * 1e-9;
  process_.log().write(base::LogLevel::warn, name_of(creation) + " has waited " + seconds_text(waited) + " for " +
                                                 describe_missing(creation));
}

void Creations::ask_the_missing(Creation& creation) {
  for (int rank : waited_for(creation)) {
    const base::ProcessId process = creation.group->at(rank);
    if (process_.is_local(process)) {
      if (process_.has_session(process)) ask(creation, rank);  // else nobody would answer
    } else if (process_.known_life(process)) {
      ask(creation, rank);
    } else {
      if (!creation.to_be_asked.contains(rank)) creation.to_be_asked.emplace(rank, process_.look_for(process));
    }
  }
}

void Creations::ask(Creation& creation, int rank) {
  const base::Nanoseconds waited = base::now_ns() - creation.started;
  Question question{creation.key, creation.own_call(), static_cast<std::uint32_t>(waited / 1'000'000), {}};
  if (!process_.is_local(creation.group->at(rank)))
    if (auto own = process_.own_address()) question.asker = *std::move(own);
  send(creation, rank, question);
}

void Creations::ask_who_was_found(Creation& creation) {
  for (auto at = creation.to_be_asked.begin(); at != creation.to_be_asked.end();) {
    auto found = at->second.poll();
    if (found && !*found) {
      ++at;
      continue;
    }
    // else it is not vital: the report goes without an answer
    if (found && process_.learn_found(creation.group->at(at->first), **found)) ask(creation, at->first);
    at = creation.to_be_asked.erase(at);
  }
}

}  // namespace shim::sessions
