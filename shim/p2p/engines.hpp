// SPDX-License-Identifier: BSD-3-Clause
// Engines is the set of a process's engines, which make progress for each other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "shim/base/lock.hpp"
#include "shim/p2p/ended_bases.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::p2p {

class WaitLoop;

/// The engines of one process, at most kMost.
///
/// A thread that blocks in one engine makes progress on all operations of its process (MPI-4.1
/// §2.9). Threads that each use an engine of their own must not contend for locks, so a blocked
/// thread skips engines that another thread polls.
class Engines {
 public:
  static constexpr std::size_t kMost = 8;

  /// Make one round in the first engine, and in the others that no other thread polls. Errors: the
  /// first engine's.
  base::Status progress();
  const std::shared_ptr<EndedBases>& ended_bases() const { return ended_; }

  // --- for engines
  void add(WaitLoop& loop);
  /// Remove an engine. Call it while no thread is inside any engine of the process: a thread inside
  /// another engine may poll the removed one.
  void remove(WaitLoop& loop);
  // relaxed: a thread that misses the last addition sees it soon
  bool are_several() const { return count_.load(std::memory_order_relaxed) > 1; }
  /// Poll the other engines; return the number of packets moved. @param pre_sleep the caller is
  /// about to sleep
  int poll_others(const WaitLoop& own, bool pre_sleep);
  /// Return the number of threads that sleep in any engine; a hint.
  int sleepers() const;
  /// True if an engine has work that allows short sleeps only.
  bool any_needs_polling() const;

 private:
  base::Lock lock_;  ///< guards changes of the members below
  /// without gaps; each non-null entry is complete
  std::array<std::atomic<WaitLoop*>, kMost> loops_{};
  std::atomic<std::size_t> count_{0};
  std::shared_ptr<EndedBases> ended_ = std::make_shared<EndedBases>();
};

}  // namespace shim::p2p
