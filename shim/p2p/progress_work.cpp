// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/progress_work.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace shim::p2p {

std::uint64_t ProgressWork::add(Work work, Work before_sleep) {
  if (before_sleep) restless_.fetch_add(1, std::memory_order_relaxed);
  items_.push_back(std::make_unique<Item>(++last_number_, std::move(work), std::move(before_sleep)));
  return last_number_;
}

void ProgressWork::remove(std::uint64_t number, Guard& guard) {
  std::unique_ptr<Item> item = take_out(items_, number);
  if (item == nullptr) return;
  if (item->before_sleep) restless_.fetch_sub(1, std::memory_order_relaxed);
  if (!item->is_running()) {
    guard.unlock();  // what goes with it may call the engine
    item.reset();
    return guard.lock();
  }
  item->is_removed = true;
  const bool is_from_within = item->by == std::this_thread::get_id();
  removed_.insert(behind(removed_, number), std::move(item));
  while (!is_from_within && is_at(number)) {
    guard.unlock();
    sched_yield();
    guard.lock();
  }
}

/// By numbers, as the list may be another one after each of them. What is added meanwhile has its turn in the next round.
void ProgressWork::run(Guard& guard, Work Item::* what) {
  const std::uint64_t last = last_number_;
  std::uint64_t number = 0;
  for (auto at = items_.begin(); at != items_.end() && (*at)->number <= last; at = behind(items_, number)) {
    Item& item = **at;
    number = item.number;
    if (item.*what && !item.is_running()) do_work(guard, item, item.*what);
  }
}

void ProgressWork::do_work(Guard& guard, Item& item, const Work& work) {
  item.by = std::this_thread::get_id();
  guard.unlock();
  work();
  guard.lock();
  item.by = {};
  if (!item.is_removed) return;
  const std::unique_ptr<Item> removed = take_out(removed_, item.number);
  guard.unlock();  // what goes with it may call the engine
  removed->work = nullptr;
  removed->before_sleep = nullptr;
  guard.lock();
}

/// The first whose number is larger.
ProgressWork::Items::iterator ProgressWork::behind(Items& items, std::uint64_t number) {
  return std::ranges::upper_bound(items, number, {}, &Item::number);
}

std::unique_ptr<ProgressWork::Item> ProgressWork::take_out(Items& items, std::uint64_t number) {
  const auto at = std::ranges::lower_bound(items, number, {}, &Item::number);
  if (at == items.end() || (*at)->number != number) return nullptr;
  std::unique_ptr<Item> item = std::move(*at);
  items.erase(at);
  return item;
}

bool ProgressWork::is_at(std::uint64_t number) const { return std::ranges::binary_search(removed_, number, {}, &Item::number); }

}  // namespace shim::p2p
