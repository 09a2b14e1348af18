// SPDX-License-Identifier: BSD-3-Clause
// The work that other rooms have done at each round of progress.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "shim/p2p/turn.hpp"

namespace shim::p2p {

/// The list changes under the engine's lock and is never changed in place, so that a round works on a copy of the pointer.
class ProgressWork {
 public:
  struct Item {
    int number = 0;
    std::function<void()> work;
    std::function<void()> before_sleep;  ///< empty where it has nothing more to do then
    Turn turn;
    std::atomic<bool> withdrawn{false};  // seq_cst: pairs with Turn::try_take, see remove()
  };
  using List = std::vector<std::shared_ptr<Item>>;

  // under the engine's lock
  int add(std::function<void()> work, std::function<void()> before_sleep);
  /// Null where there is no such item.
  std::shared_ptr<Item> take_out(int number);
  /// Null where there is nothing to do.
  const std::shared_ptr<const List>& list() const { return list_; }
  /// Is there an item that nobody may sleep on for long?
  bool is_restless() const { return restless_.load(std::memory_order_relaxed) > 0; }

  // without it
  /// Runs each item that no thread is running.
  static void run(const List& list) { run(list, &Item::work); }
  static void run_before_sleep(const List& list) { run(list, &Item::before_sleep); }
  /// From the return on the work does not run any more, unless this is called from within the work itself.
  static void withdraw(Item& item);

 private:
  static void run(const List& list, std::function<void()> Item::* what);

  std::shared_ptr<const List> list_;
  int next_number_ = 1;
  std::atomic<int> restless_{0};  ///< changed under the engine's lock; a hint without it
};

}  // namespace shim::p2p
