// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/progress_work.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace shim::p2p {

std::uint64_t ProgressWork::add(Work work, Work pre_sleep) {
  const bool needs_polling = pre_sleep != nullptr;
  items_.push_back(
      std::make_unique<Item>(Item{++last_number_, std::move(work), std::move(pre_sleep)}));
  if (needs_polling) polling_items_.fetch_add(1, std::memory_order_relaxed);
  return last_number_;
}

void ProgressWork::remove(std::uint64_t number, Guard& guard) {
  const auto at = find(number);
  if (at == items_.end() || (*at)->is_removed) return;
  Item& item = **at;
  if (item.pre_sleep) polling_items_.fetch_sub(1, std::memory_order_relaxed);
  if (!item.is_running()) {
    std::unique_ptr<Item> removed = extract(at);
    guard.unlock();  // destructors of the work's captures may call the engine
    removed.reset();
    return guard.lock();
  }
  item.is_removed = true;
  if (item.by == std::this_thread::get_id()) return;
  while (find(number) != items_.end()) {
    guard.unlock();
    sched_yield();
    guard.lock();
  }
}

/// Run the work of all items. Iterates by number, because the list may change while the lock is
/// released for an item. Items added meanwhile run in the next round.
void ProgressWork::run(Guard& guard, Work Item::*what) {
  const std::uint64_t last = last_number_;
  std::uint64_t number = 0;
  for (auto at = items_.begin(); at != items_.end() && (*at)->number <= last; at = behind(number)) {
    Item& item = **at;
    number = item.number;
    if (!item.is_running() && item.*what) do_work(guard, item, item.*what);
  }
}

/// Marks an item as running and releases the lock while its work runs. The destructor restores
/// both, so that after an exception of the work, or pthread_exit in it, the item can run in the
/// next round.
class ProgressWork::RunningMark {
 public:
  RunningMark(ProgressWork& all, Guard& guard, Item& item) : all_(all), guard_(guard), item_(item) {
    item_.by = std::this_thread::get_id();
    guard_.unlock();
  }
  ~RunningMark() {
    guard_.lock();
    if (!item_.is_removed) {
      item_.by = {};
      return;
    }
    guard_.unlock();  // destructors of the work's captures may call the engine
    item_.work = nullptr;
    item_.pre_sleep = nullptr;
    guard_.lock();
    all_.extract(all_.find(item_.number));
  }
  RunningMark(const RunningMark&) = delete;
  RunningMark& operator=(const RunningMark&) = delete;

 private:
  ProgressWork& all_;
  Guard& guard_;
  Item& item_;
};

void ProgressWork::do_work(Guard& guard, Item& item, const Work& work) {
  const RunningMark running(*this, guard, item);
  work();
}

ProgressWork::Items::iterator ProgressWork::find(std::uint64_t number) {
  const auto at = std::ranges::lower_bound(items_, number, {}, &Item::number);
  return at != items_.end() && (*at)->number == number ? at : items_.end();
}

/// Return the first item with a larger number.
ProgressWork::Items::iterator ProgressWork::behind(std::uint64_t number) {
  return std::ranges::upper_bound(items_, number, {}, &Item::number);
}

std::unique_ptr<ProgressWork::Item> ProgressWork::extract(Items::iterator at) {
  std::unique_ptr<Item> item = std::move(*at);
  items_.erase(at);
  return item;
}

}  // namespace shim::p2p
