// SPDX-License-Identifier: BSD-3-Clause
// StuckMembers detects that all missing members of a creation are stuck
// (docs/decisions/0011-stuck-creations.md).
#pragma once

#include <map>
#include <optional>

#include "shim/base/clock.hpp"
#include "shim/sessions/creation_report.hpp"
#include "shim/sessions/finding.hpp"
#include "shim/sessions/member_liveness.hpp"

namespace shim::sessions {

/// Part of a CreationWatch. A stuck member has finalized its last session, or waits in a creation
/// of an equal group with another tag and has begun no other creation. A process that computes, or
/// has not begun a session yet, is not stuck: a creation waits for it without limit.
class StuckMembers {
 public:
  StuckMembers(const WatchContext& context, const MemberLiveness& liveness, CreationReport& report)
      : context_(context), liveness_(liveness), report_(report) {}

  std::optional<Finding> find(base::Nanoseconds now);
  /// Record whether the member waits in a creation of the same group with another tag.
  void on_reply(int rank, const StatusReply& reply);

 private:
  struct StuckMember {
    /// Creation of an equal group with another tag in which the partner waits. Empty: the partner
    /// has finalized its last session.
    std::optional<CreationKey> elsewhere;
    /// Begin of this state, as far as known, and the last time it was observed.
    base::Nanoseconds since = 0, until = 0;
    base::Nanoseconds last_query = 0;
  };
  void record_finalized(base::Nanoseconds now);
  void query(base::Nanoseconds now);
  bool is_stuck(int rank) const;
  base::Error error() const;

  const WatchContext& context_;
  const MemberLiveness& liveness_;
  CreationReport& report_;
  std::map<int, StuckMember> members_;
  /// True if all missing members were queried once, Process::stuck_after() after the start.
  bool has_queried_all_ = false;
};

}  // namespace shim::sessions
