// SPDX-License-Identifier: BSD-3-Clause
// SessionThreads records whether several threads of a process may call.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "shim/sessions/session.hpp"

namespace shim::sessions {

/// Thread-safe.
class SessionThreads {
 public:
  /// Allow other threads to call while a thread blocks.
  void allow_several() { are_several_.store(true, std::memory_order_relaxed); }
  /// Register a new session. Allow several threads if it has MPI_THREAD_MULTIPLE, or if it and the
  /// first session may have different threads: different threads opened them, or one of them has
  /// MPI_THREAD_SERIALIZED.
  void register_session(ThreadLevel level, std::thread::id opener) {
    if (level == ThreadLevel::multiple) allow_several();
    const bool is_handed_on = level >= ThreadLevel::serialized;
    std::lock_guard guard(mutex_);
    if (!first_)
      first_ = {opener, is_handed_on};
    else if (is_handed_on || first_->is_handed_on || opener != first_->opener)
      allow_several();
  }
  bool are_several() const { return are_several_.load(std::memory_order_relaxed); }

 private:
  struct FirstSession {
    std::thread::id opener;
    bool is_handed_on;  ///< its level lets other threads than the opener call
  };
  std::atomic<bool> are_several_{false};  ///< pairs with nothing
  std::mutex mutex_;                      ///< guards first_
  std::optional<FirstSession> first_;
};

}  // namespace shim::sessions
