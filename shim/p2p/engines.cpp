// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/engines.hpp"

#include <mutex>

#include "shim/p2p/wait_loop.hpp"

namespace shim::p2p {

void Engines::add(WaitLoop& loop) {
  std::lock_guard guard(lock_);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  loops_[count].store(&loop, std::memory_order_release);  // pairs with the acquires below
  count_.store(count + 1, std::memory_order_relaxed);
}

void Engines::remove(WaitLoop& loop) {
  std::lock_guard guard(lock_);
  std::size_t kept = 0;
  for (std::atomic<WaitLoop*>& slot : loops_) {
    WaitLoop* const found = slot.exchange(nullptr, std::memory_order_relaxed);
    if (found != nullptr && found != &loop) loops_[kept++].store(found, std::memory_order_relaxed);
  }
  count_.store(kept, std::memory_order_relaxed);
}

int Engines::poll_others(const WaitLoop& own, bool pre_sleep) {
  int moved = 0;
  for (std::atomic<WaitLoop*>& slot : loops_) {
    WaitLoop* const loop = slot.load(std::memory_order_acquire);
    if (loop != nullptr && loop != &own) moved += loop->poll_for_others(pre_sleep);
  }
  return moved;
}

base::Status Engines::progress() {
  WaitLoop* const first = loops_.front().load(std::memory_order_acquire);
  if (first == nullptr) return {};
  auto moved = first->round(true);
  if (are_several()) poll_others(*first, false);
  if (!moved) return std::move(moved).error();
  return {};
}

int Engines::sleepers() const {
  int all = 0;
  for (const std::atomic<WaitLoop*>& slot : loops_) {
    const WaitLoop* const loop = slot.load(std::memory_order_acquire);
    if (loop != nullptr) all += loop->sleepers();
  }
  return all;
}

bool Engines::any_needs_polling() const {
  for (const std::atomic<WaitLoop*>& slot : loops_) {
    const WaitLoop* const loop = slot.load(std::memory_order_acquire);
    if (loop != nullptr && loop->needs_polling()) return true;
  }
  return false;
}

}  // namespace shim::p2p
