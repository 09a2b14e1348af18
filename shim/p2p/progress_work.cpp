// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/progress_work.hpp"

#include <algorithm>
#include <utility>

namespace shim::p2p {

int ProgressWork::add(std::function<void()> work, bool is_steady) {
  auto item = std::make_shared<Item>();
  item->number = next_number_++;
  item->work = std::move(work);
  item->is_steady = is_steady;
  steady_ += is_steady ? 1 : 0;
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
  steady_ -= item->is_steady ? 1 : 0;
  list_ = shorter->empty() ? nullptr : std::move(shorter);
  return item;
}

void ProgressWork::run(const List& list) {
  for (const auto& item : list) {
    if (!item->turn.try_take()) continue;
    if (!item->withdrawn.load()) item->work();
    item->turn.give_back();
  }
}

void ProgressWork::withdraw(Item& item) {
  item.withdrawn.store(true);
  item.turn.wait_for_others();
}

}  // namespace shim::p2p
