// SPDX-License-Identifier: BSD-3-Clause
// GroupCache shares equal groups of a process's communicators. A program with many communicators
// over one irregular set of processes stores its list once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "shim/sessions/group.hpp"

namespace shim::sessions {

/// Thread-safe. Holds weak references only.
class GroupCache {
 public:
  /// Return an equal group in use, or the group itself. Time: linear in the group's ranges.
  GroupPtr intern(GroupPtr group);

 private:
  void remove_expired();

  std::mutex mutex_;  ///< guards all members below
  std::unordered_multimap<std::size_t, std::weak_ptr<const Group>> by_hash_;
  /// Entry count that triggers the removal of expired entries; amortized over insertions.
  std::size_t cleanup_size_ = 16;
};

}  // namespace shim::sessions
