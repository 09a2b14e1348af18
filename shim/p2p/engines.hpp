// SPDX-License-Identifier: BSD-3-Clause
// The engines of one process, and how a thread that waits in one of them moves what nobody moves in the others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "shim/base/lock.hpp"
#include "shim/p2p/ended_bases.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::p2p {

/// What engines of one process have in common. Whoever blocks in a call makes progress on all that its process has under way (MPI-4.1
/// §2.9), in whichever engine; but threads that are busy in an engine each are not to meet, so that nobody looks where others do.
class Engines {
 public:
  static constexpr std::size_t kMost = 8;

  /// One round in the first engine, and in those of the others that no other thread moves. Errors: the first engine's.
  base::Status progress();
  const std::shared_ptr<EndedBases>& ended_bases() const { return ended_; }

  // --- for engines
  void add(Core& core);
  /// No thread is in any of them.
  void remove(Core& core);
  // relaxed: who has not seen the last one yet sees it soon
  bool are_several() const { return count_.load(std::memory_order_relaxed) > 1; }
  /// Answers how much moved. @param before_sleep the one who asks has nothing else to do
  int look_after_others(const Core& own, bool before_sleep);
  /// Return the number of threads that sleep in any of them; a hint.
  int sleepers() const;
  /// Is there work in one of them on which nobody may sleep for long?
  bool are_restless() const;

 private:
  base::Lock lock_;  ///< guards changes of what follows
  std::array<std::atomic<Core*>, kMost> cores_{};  ///< one after the other; who finds one finds it complete
  std::atomic<std::size_t> count_{0};
  std::shared_ptr<EndedBases> ended_ = std::make_shared<EndedBases>();
};

}  // namespace shim::p2p
