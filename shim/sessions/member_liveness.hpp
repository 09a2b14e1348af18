// SPDX-License-Identifier: BSD-3-Clause
// MemberLiveness detects that a member of a creation has died, or cannot be found in shared memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "shim/base/clock.hpp"
#include "shim/sessions/finding.hpp"
#include "shim/sessions/liveness_probe.hpp"

namespace shim::sessions {

/// Part of a CreationWatch.
class MemberLiveness {
 public:
  explicit MemberLiveness(const WatchContext& context) : context_(context) {}

  /// Return the death of a missing member, or of the launcher.
  std::optional<Finding> find_dead();
  /// Return that a member of this node has attached to separate shared memory: it and this process
  /// would never find each other.
  std::optional<Finding> find_separate_memory(base::Nanoseconds now);
  /// True if the member has finalized its last session.
  bool has_finalized(int rank) const;
  /// True if a member of another node has ended its session, as its launcher key shows.
  bool is_between_sessions(int rank) const;

 private:
  bool has_ended(int rank);
  bool probe_finds_end(int rank, std::uint32_t incarnation);

  const WatchContext& context_;
  std::optional<int> suspected_dead_;    ///< a partner whose process had ended at the last check
  std::map<int, LivenessProbe> probes_;  ///< for unreachable partners on other nodes
  base::Nanoseconds next_memory_check_ = 0, other_memory_since_ = 0;
};

}  // namespace shim::sessions
