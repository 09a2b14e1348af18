// SPDX-License-Identifier: BSD-3-Clause
// CreationWatch is the watchdog of a call that waits in a creation: it detects members that cannot
// join, and reports members that are missing.
#pragma once

#include <optional>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/sessions/creation_report.hpp"
#include "shim/sessions/disagreement.hpp"
#include "shim/sessions/finding.hpp"
#include "shim/sessions/member_liveness.hpp"
#include "shim/sessions/stuck_members.hpp"

namespace shim::sessions {

/// Changes no creation: a finding is a reason to fail, for the caller. Not thread-safe.
class CreationWatch {
 public:
  /// Watch the creation of this context, which this process has just joined.
  explicit CreationWatch(const WatchContext& context);
  CreationWatch(const CreationWatch&) = delete;
  CreationWatch& operator=(const CreationWatch&) = delete;

  /// True every 50 ms.
  bool is_due() const { return base::now_ns() >= next_check_; }
  /// Check the missing members, and report them when a report is due. Call when is_due().
  std::optional<Finding> check();
  /// Record the reply of a queried member.
  std::optional<Finding> on_reply(int rank, const StatusReply& reply);
  /// Return text about the members that the call waits for.
  std::string describe_missing() const { return report_.describe_missing(); }

 private:
  std::optional<Finding> find_timeout(base::Nanoseconds now) const;

  const WatchContext context_;
  base::Nanoseconds next_check_;
  MemberLiveness liveness_;
  CreationReport report_;
  StuckMembers stuck_;
  Disagreement disagreement_;
};

}  // namespace shim::sessions
