// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/progress_work.hpp"

#include <algorithm>
#include <utility>

namespace shim::p2p {

int ProgressWork::add(std::function<void()> work, std::function<void()> before_sleep) {
  auto item = std::make_shared<Item>();
  item->number = next_number_++;
  item->work = std::move(work);
  item->before_sleep = std::move(before_sleep);
  if (item->before_sleep) restless_.fetch_add(1, std::memory_order_relaxed);
  auto longer = list_ ? std::make_shared<List>(*list_) : std::make_shared<List>();
  longer->push_back(item);
  list_ = std::move(longer);
  return item->number;
}

std::shared_ptr<ProgressWork::Item> ProgressWork::take_out(int number) {
  if (list_ == nullptr) return nullptr;
  auto shorter = std::make_shared<List>(*list_);
  auto found = std::find_if(shorter->begin(), shorter->end(), [number](auto& item) { return item->number == number; });
  if (found == shorter->end()) return nullptr;
  std::shared_ptr<Item> item = *found;
  shorter->erase(found);
  if (item->before_sleep) restless_.fetch_sub(1, std::memory_order_relaxed);
  list_ = shorter->empty() ? nullptr : std::move(shorter);
  return item;
}

void ProgressWork::run(const List& list, std::function<void()> Item::* what) {
  for (const auto& item : list) {
    const std::function<void()>& work = (*item).*what;
    if (!work || !item->turn.try_take()) continue;
    if (!item->withdrawn.load()) work();
    item->turn.give_back();
  }
}

void ProgressWork::withdraw(Item& item) {
  item.withdrawn.store(true);
  item.turn.wait_for_others();
}

}  // namespace shim::p2p
