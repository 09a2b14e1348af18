// SPDX-License-Identifier: BSD-3-Clause
// CreationRegistry holds the creations of one process by key.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shim/base/ids.hpp"
#include "shim/sessions/creation_state.hpp"
#include "shim/sessions/creation_wire.hpp"

namespace shim::sessions {

class Process;

using CreationPtr = std::shared_ptr<Creation>;

/// Not thread-safe.
class CreationRegistry {
 public:
  explicit CreationRegistry(Process& process) : process_(process) {}

  CreationPtr find(const CreationKey& key) const;  ///< null if there is none
  CreationPtr find_or_begin(const CreationKey& key);
  /// Find or begin the creation of a message from a partner; null if `from` cannot be a member, or
  /// the key is impossible in this job.
  CreationPtr find_or_begin(const CreationKey& key, base::ProcessId from);
  void forget(const Creation& creation);
  /// Record that the partner knows of the failure; forget the creation after the last partner.
  void record_notified(const CreationPtr& creation, int rank);
  /// Remove and return all creations.
  std::vector<CreationPtr> take_all();

  /// True if a process of this job may have sent this key. All its parts are bounded by the job, so
  /// that a damaged message is harmless. with_us: this process must also be in its group.
  bool is_plausible(const CreationKey& key, base::ProcessId from, bool with_us = true) const;
  /// True if a thread of this process waits in that creation.
  bool is_waiting_in(const CreationKey& key) const;
  /// Return the creations in this state.
  std::vector<CreationPtr> in_state(CreationState state) const;
  /// Return the keys of the creations in which this process waits.
  std::vector<CreationKey> keys_of_waiting() const;

 private:
  Process& process_;
  std::unordered_map<CreationKey, CreationPtr, CreationKeyHash> creations_;
};

}  // namespace shim::sessions
