// SPDX-License-Identifier: BSD-3-Clause
// CreationReport queries the missing members of a creation, and reports them to the user.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/sessions/address_lookup.hpp"
#include "shim/sessions/finding.hpp"
#include "shim/sessions/member_liveness.hpp"

namespace shim::sessions {

/// Part of a CreationWatch.
class CreationReport {
 public:
  CreationReport(const WatchContext& context, const MemberLiveness& liveness)
      : context_(context), liveness_(liveness) {}

  /// Query missing members, also to detect unreachable processes, and report them when due.
  void report_when_due(base::Nanoseconds now);
  void query_missing_members();
  /// Query members whose addresses have been found. Find members that have published a reason why
  /// they have none.
  std::optional<Finding> query_found_members();
  void query(int rank);
  /// Record the state of a member, from its reply, for the report.
  void record_reply(int rank, std::string state);
  std::string describe_missing() const;

 private:
  std::string liveness_text(int rank) const;

  const WatchContext& context_;
  const MemberLiveness& liveness_;
  /// Queries precede each report, so that it includes the replies.
  base::Nanoseconds next_query_ = 0, next_report_ = 0;
  struct LastReply {
    std::string what;
    base::Nanoseconds when = 0;
  };
  std::map<int, LastReply> last_replies_;
  /// Lookups of partners to query once their addresses are found.
  std::map<int, AddressLookup> to_query_;
};

}  // namespace shim::sessions
