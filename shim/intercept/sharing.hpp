// SPDX-License-Identifier: BSD-3-Clause
// Two libraries in one process, each of which moves its messages only while somebody is inside it: they lend each other time.
#pragma once

#include <cstdint>
#include <memory>

#include "shim/intercept/progress_thread.hpp"
#include "shim/p2p/engines.hpp"

namespace shim::intercept {

/// A substrate with a progress engine that takes callbacks lets us in while a thread waits inside it. Above one without, calls that
/// would wait there go through another table (lending.hpp) while this exists: they are begun and asked for, or a thread of ours
/// moves our messages meanwhile.
///
/// Exists while both the substrate is active and the Process lives; one at a time. The destructor waits until no thread inside
/// the substrate is in our engines any more.
class ProgressSharing {
 public:
  /// @param first of the engines, in whose rounds the substrate is helped: who waits in another makes them where nobody else does
  ProgressSharing(p2p::Engine& first, p2p::Engines& engines, const base::Log& log);
  ~ProgressSharing();
  ProgressSharing(const ProgressSharing&) = delete;
  ProgressSharing& operator=(const ProgressSharing&) = delete;

 private:
  p2p::Engine* first_;
  std::uint64_t number_;
  std::unique_ptr<ProgressThread> thread_;  ///< above a substrate that does not let us in
};

/// While this exists, the calling thread is inside a call of the substrate that may wait, and lets nobody in.
class Inside {
 public:
  Inside() noexcept;
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// In a child made by fork(): waits in the substrate no longer move messages of the parent. Takes no lock.
void forget_engines() noexcept;

/// From here on the calling thread moves our messages only: the substrate need not bear it.
void keep_to_ours() noexcept;

/// One round for our messages, by a thread that waits for the substrate. Does nothing while there is nobody to help.
void lend_to_ours();

}  // namespace shim::intercept
