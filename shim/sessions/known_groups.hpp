// SPDX-License-Identifier: BSD-3-Clause
// Equal groups of a process's communicators are one object: a program that makes many communicators over the same irregular set of
// processes keeps the list of them once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "shim/sessions/group.hpp"

namespace shim::sessions {

/// Thread-safe. Keeps no group alive.
class KnownGroups {
 public:
  /// The group itself, or an equal one that was given before and is in use. Takes as long as the group has ranges.
  GroupPtr same_as(GroupPtr group);

 private:
  void forget_the_dead();

  std::mutex mutex_;  ///< guards the rest
  std::unordered_multimap<std::size_t, std::weak_ptr<const Group>> by_hash_;
  std::size_t forget_at_ = 16;  ///< entries; so that looking for dead ones costs little for each new one
};

}  // namespace shim::sessions
