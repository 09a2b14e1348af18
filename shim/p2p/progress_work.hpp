// SPDX-License-Identifier: BSD-3-Clause
// The work that other rooms have done at each round of progress.
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

/// All under the engine's lock, which the guard holds where one is asked for, and which is given back while work runs or is waited for.
class ProgressWork {
 public:
  using Work = std::function<void()>;

  /// Answers the number to remove it with. @param before_sleep empty where there is nothing more to do then
  std::uint64_t add(Work work, Work before_sleep);
  /// From the return on it does not run any more, unless this is called from within the work itself. Nothing where there is no such work.
  void remove(std::uint64_t number, Guard& guard);
  bool empty() const { return items_.empty(); }
  /// Is there work that nobody may sleep on for long? A hint without the lock.
  bool is_restless() const { return restless_.load(std::memory_order_relaxed) > 0; }

  /// Does each that no thread is at.
  void run(Guard& guard) { run(guard, &Item::work); }
  void run_before_sleep(Guard& guard) { run(guard, &Item::before_sleep); }

 private:
  struct Item {
    std::uint64_t number;
    Work work, before_sleep;
    std::thread::id by{};  ///< who is at it
    bool is_removed = false;  ///< it goes when who is at it has ended
    bool is_running() const { return by != std::thread::id(); }
  };
  class Running;
  using Items = std::vector<std::unique_ptr<Item>>;

  void run(Guard& guard, Work Item::* what);
  void do_work(Guard& guard, Item& item, const Work& work);
  Items::iterator find(std::uint64_t number);
  Items::iterator behind(std::uint64_t number);
  std::unique_ptr<Item> take_out(Items::iterator at);

  Items items_;  ///< by number
  std::uint64_t last_number_ = 0;
  std::atomic<int> restless_{0};
};

}  // namespace shim::p2p
