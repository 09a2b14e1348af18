// SPDX-License-Identifier: BSD-3-Clause
// Disagreement detects members that called one creation with different groups, topologies or tags.
// Each would otherwise wait forever in its own creation.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "shim/sessions/finding.hpp"

namespace shim::sessions {

/// True if the groups are equal and the tags differ. That is an error only if neither process has
/// another thread that may call. Otherwise it is only reported, because the other thread may join
/// the creation, however late.
bool differs_by_tag(const CreationKey& mine, const CreationKey& other);
/// Return text about a creation of an equal group with another tag, in which `rank` waits.
std::string disagreement_on_tag(const WatchContext& context, const CreationKey& other, int rank);
/// True if another thread exists and may call. A waiting thread starts none, so false is final.
bool another_may_call(const Process& process, const CallerThreads& threads);
/// Return the processes known to have called this creation.
std::vector<ProcessRange> callers_of(const Creation& creation);

/// Part of a CreationWatch.
class Disagreement {
 public:
  explicit Disagreement(const WatchContext& context) : context_(context) {}

  /// Return that missing members contributed to another creation with an equal tag and wait there
  /// for this process.
  std::optional<Finding> find_here() const;
  /// Return the disagreement that a reply shows, if any.
  std::optional<Finding> find_in(int rank, const StatusReply& reply);
  /// Return text about one creation in which the member waits: one that differs by tag, else the
  /// first.
  std::string describe_wait(int rank, const StatusReply& reply) const;

 private:
  std::optional<std::string> disagree_on_group(const CreationKey& other, int rank) const;
  std::string disagreement_on_topology(const CreationKey& other, int rank) const;
  Finding finding(const CreationKey& other, int rank, const std::string& text) const;

  const WatchContext& context_;
  /// Partners that seem to disagree on the tag, with the key of their creation.
  std::map<int, CreationKey> suspects_;
};

}  // namespace shim::sessions
