// SPDX-License-Identifier: BSD-3-Clause
// FailedMembers tracks failed members of communicators, and receives from any source that they
// affect.
//
// A receive from any source may wait in vain for a failed member (ULFM, "MPI_ANY_SOURCE"). A failed
// member has died or is unreachable; a member that has finalized its last session is not failed. A
// receive from any source that the program can complete later stays active when a member fails, and
// settles; other receives end.
#pragma once

#include <atomic>
#include <optional>

#include "shim/p2p/services.hpp"

namespace shim::p2p {

/// Callers of all functions but has_unacknowledged() hold the engine's lock.
class FailedMembers final : public FailedRanks {
 public:
  explicit FailedMembers(OperationEnder& operations) : operations_(operations) {}

  void record_failed_rank(Context& context, int rank) override;
  void drop_unacknowledged(Context& context) override;
  void end_unsatisfiable(Context& context) override;
  /// Acknowledge the first `count` failed ranks; return the number acknowledged in all.
  int acknowledge(Context& context, int count);
  /// Return why a receive from any source may wait in vain; nothing if it does not.
  static std::optional<base::Error> pending_failure(const Request& request);
  /// True if a communicator has unacknowledged failures. A hint without the lock.
  bool has_unacknowledged() const {
    return unacknowledged_contexts_.load(std::memory_order_relaxed) != 0;
  }

 private:
  OperationEnder& operations_;
  std::atomic<int> unacknowledged_contexts_{0};  ///< changed under the lock
};

}  // namespace shim::p2p
