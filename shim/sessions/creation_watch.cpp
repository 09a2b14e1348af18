// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_watch.hpp"

#include <algorithm>

#include "shim/sessions/creation_text.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

/// A waiting creation checks every 50 ms that its partners still run.
constexpr base::Nanoseconds kCreationCheckInterval = 50'000'000;
/// Extra wait per tree level, so that the process that waits for the missing member itself times
/// out first and names it: a quarter of the time-out, at most 0.5 s.
constexpr double kGracePart = 0.25, kMaxGrace = 0.5;

}  // namespace

/// No earlier check, because most creations are over by then, and a check queries the system about
/// each partner.
CreationWatch::CreationWatch(const WatchContext& context)
    : context_(context),
      next_check_(context.creation.started() + kCreationCheckInterval),
      liveness_(context_),
      report_(context_, liveness_),
      stuck_(context_, liveness_, report_),
      disagreement_(context_) {}

std::optional<Finding> CreationWatch::check() {
  const base::Nanoseconds now = base::now_ns();
  next_check_ = now + kCreationCheckInterval;
  if (auto found = liveness_.find_dead()) return found;
  if (auto found = disagreement_.find_here()) return found;
  if (auto found = stuck_.find(now)) return found;
  if (auto found = find_timeout(now)) return found;
  if (auto found = liveness_.find_separate_memory(now)) return found;
  if (auto found = report_.query_found_members()) return found;
  report_.report_when_due(now);
  return std::nullopt;
}

std::optional<Finding> CreationWatch::find_timeout(base::Nanoseconds now) const {
  const Creation& creation = context_.creation;
  const double waited = static_cast<double>(now - creation.started()) * 1e-9;
  const double timeout = context_.process.settings().create_timeout;
  // a process that has sent its contribution waits for the whole tree
  const int levels = creation.state() == CreationState::awaiting_outcome
                         ? creation.roles().tree_height + 1
                         : creation.roles().height;
  if (timeout <= 0 || waited <= timeout + std::min(kGracePart * timeout, kMaxGrace) * levels)
    return std::nullopt;
  return Finding{base::Error(base::ErrorClass::other,
                             name_of(creation) + " timed out after " + seconds_text(timeout) +
                                 " (INTERSESSION_CREATE_TIMEOUT); missing: " + describe_missing())};
}

std::optional<Finding> CreationWatch::on_reply(int rank, const StatusReply& reply) {
  const auto missing = context_.creation.missing_members();
  if (std::ranges::find(missing, rank) == missing.end()) return std::nullopt;
  stuck_.on_reply(rank, reply);
  std::string state;
  if (!reply.missing.empty()) {
    state = "has called and waits for " + reply.missing;
  } else if (auto found = disagreement_.find_in(rank, reply)) {
    return found;
  } else if (reply.waiting.empty()) {
    state = "has a session, but is not in any creation";
  } else {
    state = disagreement_.describe_wait(rank, reply);
  }
  report_.record_reply(rank, std::move(state));
  return std::nullopt;
}

}  // namespace shim::sessions
