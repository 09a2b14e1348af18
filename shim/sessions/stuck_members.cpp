// SPDX-License-Identifier: BSD-3-Clause
// A creation whose missing members cannot come any more, as far as this process can know: each of
// them has finalized its last session, or waits in a creation of the same group with another tag
// and has begun no other creation. A process that computes, or has not begun a session yet, is not
// among them: a creation waits for that one without end.
#include <algorithm>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

/// Pause between two questions to a stuck member whose time is over and whose answer is missing.
constexpr base::Nanoseconds kAskedAgainAfter = 1'000'000'000;

}  // namespace

bool Creations::has_finalized(const Creation& creation, int rank) const {
  const base::ProcessId process = creation.group->at(rank);
  if (process_.is_local(process)) return process_.has_finalized(process);
  const auto inquiry = creation.inquiries.find(rank);
  return inquiry != creation.inquiries.end() && inquiry->second.is_between_sessions();
}

void Creations::note_finalized(Creation& creation, base::Nanoseconds now) {
  std::erase_if(creation.stuck, [&](const auto& known) {
    return !known.second.elsewhere && !has_finalized(creation, known.first);
  });
  for (int rank : waited_for(creation)) {
    if (!has_finalized(creation, rank)) continue;
    auto& stuck = creation.stuck.try_emplace(rank, Creation::Stuck{.elsewhere = {}, .since = now})
                      .first->second;
    if (stuck.elsewhere) stuck = {.elsewhere = {}, .since = now};
    stuck.until = now;
  }
}

/// The missing are asked once in time, whatever the reports' interval is. After that a member is
/// asked again if its last answer came before it had been stuck long enough.
void Creations::ask_the_stuck(Creation& creation, base::Nanoseconds now) {
  const base::Nanoseconds enough = process_.stuck_after();
  if (!creation.asked_when_long && now >= creation.started + enough) {
    creation.asked_when_long = true;
    ask_the_missing(creation);
  }
  for (auto& [rank, stuck] : creation.stuck) {
    const bool is_open =
        stuck.elsewhere && now >= stuck.since + enough && stuck.until < stuck.since + enough;
    if (!is_open || now < stuck.asked + kAskedAgainAfter) continue;
    stuck.asked = now;
    ask(creation, rank);
  }
}

base::Error Creations::error_of_stuck(const Creation& creation) const {
  const auto& [rank, stuck] = *std::ranges::find_if(
      creation.stuck, [](const auto& known) { return !known.second.elsewhere; });
  const std::string time = seconds_text(static_cast<double>(process_.stuck_after()) * 1e-9);
  // the reason first: an MPI error string may have room for no more
  return Error(ErrorClass::proc_aborted,
               "process " + std::to_string(creation.group->at(rank).rank) +
                   " finalized its last session and has begun no other for " + time + ": " +
                   name_of(creation) + " cannot end; make a group without that process");
}

bool Creations::fail_for_the_stuck(const CreationPtr& creation) {
  const base::Nanoseconds now = base::now_ns(), enough = process_.stuck_after();
  note_finalized(*creation, now);
  ask_the_stuck(*creation, now);
  const auto missing = waited_for(*creation);
  const auto is_stuck = [&](int rank) {
    const auto known = creation->stuck.find(rank);
    if (known == creation->stuck.end() || known->second.until - known->second.since < enough)
      return false;
    return !known->second.elsewhere || !is_in(*known->second.elsewhere);
  };
  if (missing.empty() || !std::ranges::all_of(missing, is_stuck)) return false;
  std::erase_if(creation->stuck, [&](const auto& known) {
    return std::ranges::find(missing, known.first) == missing.end();
  });
  const auto waiting = std::ranges::find_if(
      creation->stuck, [](const auto& known) { return known.second.elsewhere.has_value(); });
  const bool all_wait = std::ranges::all_of(
      creation->stuck, [](const auto& known) { return known.second.elsewhere.has_value(); });
  const std::string time = seconds_text(static_cast<double>(enough) * 1e-9);
  const Error error =
      all_wait ? Error(ErrorClass::not_same,
                       disagreement_on_tag(*creation, *waiting->second.elsewhere, waiting->first) +
                           "; neither has begun another creation for " + time)
               : error_of_stuck(*creation);
  Absent absent;
  const auto stuck = creation->stuck;
  for (const auto& [rank, known] : stuck) {
    if (!known.elsewhere) continue;
    absent.elsewhere.push_back({0, creation->group->at(rank).rank, 1, 1});
    end_elsewhere(*creation, *known.elsewhere, rank, error);
  }
  fail(creation, error, {creation->roles.self}, absent);
  return true;
}

}  // namespace shim::sessions
