// SPDX-License-Identifier: BSD-3-Clause
// ProgressWork is the list of functions that other modules run in each progress round.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "shim/base/biased_lock.hpp"

namespace shim::p2p {

using Guard = std::unique_lock<base::BiasedLock>;

/// Callers hold the engine's lock, in `guard` if there is one; it is released while work runs or is
/// waited for.
class ProgressWork {
 public:
  using Work = std::function<void()>;

  /// Register work; return its number for remove(). @param pre_sleep called before a thread sleeps;
  /// may be empty
  std::uint64_t add(Work work, Work pre_sleep);
  /// Remove work. After the return it no longer runs, unless the work itself called. Unknown
  /// numbers have no effect.
  void remove(std::uint64_t number, Guard& guard);
  bool empty() const { return items_.empty(); }
  /// True if some work allows short sleeps only. A hint without the lock.
  bool needs_polling() const { return polling_items_.load(std::memory_order_relaxed) > 0; }

  /// Run all work that no other thread is running.
  void run(Guard& guard) { run(guard, &Item::work); }
  void run_pre_sleep_work(Guard& guard) { run(guard, &Item::pre_sleep); }

 private:
  struct Item {
    std::uint64_t number;
    Work work, pre_sleep;
    std::thread::id by{};     ///< thread that runs it
    bool is_removed = false;  ///< to be removed when that thread has finished it
    bool is_running() const { return by != std::thread::id(); }
  };
  class RunningMark;
  using Items = std::vector<std::unique_ptr<Item>>;

  void run(Guard& guard, Work Item::*what);
  void do_work(Guard& guard, Item& item, const Work& work);
  Items::iterator find(std::uint64_t number);
  Items::iterator behind(std::uint64_t number);
  std::unique_ptr<Item> extract(Items::iterator at);

  Items items_;  ///< by number
  std::uint64_t last_number_ = 0;
  std::atomic<int> polling_items_{0};
};

}  // namespace shim::p2p
