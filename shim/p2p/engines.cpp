// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/engines.hpp"

#include <mutex>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

void Engines::add(Core& core) {
  std::lock_guard guard(lock_);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  cores_[count].store(&core, std::memory_order_release);  // pairs with the acquires below
  count_.store(count + 1, std::memory_order_relaxed);
}

void Engines::remove(Core& core) {
  std::lock_guard guard(lock_);
  std::size_t kept = 0;
  for (std::atomic<Core*>& slot : cores_) {
    Core* const found = slot.exchange(nullptr, std::memory_order_relaxed);
    if (found != nullptr && found != &core) cores_[kept++].store(found, std::memory_order_relaxed);
  }
  count_.store(kept, std::memory_order_relaxed);
}

int Engines::poll_others(const Core& own, bool pre_sleep) {
  int moved = 0;
  for (std::atomic<Core*>& slot : cores_) {
    Core* const core = slot.load(std::memory_order_acquire);
    if (core != nullptr && core != &own) moved += core->poll_for_others(pre_sleep);
  }
  return moved;
}

base::Status Engines::progress() {
  Core* const first = cores_.front().load(std::memory_order_acquire);
  if (first == nullptr) return {};
  auto moved = first->round(true);
  if (are_several()) poll_others(*first, false);
  if (!moved) return std::move(moved).error();
  return {};
}

int Engines::sleepers() const {
  int all = 0;
  for (const std::atomic<Core*>& slot : cores_) {
    const Core* const core = slot.load(std::memory_order_acquire);
    if (core != nullptr) all += core->sleepers();
  }
  return all;
}

bool Engines::any_needs_polling() const {
  for (const std::atomic<Core*>& slot : cores_) {
    const Core* const core = slot.load(std::memory_order_acquire);
    if (core != nullptr && core->work.needs_polling()) return true;
  }
  return false;
}

}  // namespace shim::p2p
