// SPDX-License-Identifier: BSD-3-Clause
// A clock for calls that have none: some PMIx functions wait for their server for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace shim::bootstrap::pmix {

/// Runs `call` on a thread of its own and waits for it, at most this long (0: without end, and without a thread). Where
/// it is too late, answers nothing and leaves the thread to itself; `undo` then gets the result, on that thread, should
/// the call ever return. Both must own what they touch.
template <typename T>
std::optional<T> bounded_call(double seconds, std::function<T()> call, std::function<void(T)> undo = nullptr) {
  if (seconds <= 0) return call();
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<T> result;
    bool abandoned = false;
  };
  auto shared = std::make_shared<Shared>();
  std::thread thread([shared, call = std::move(call), undo = std::move(undo)] {
    T result = call();
    std::unique_lock lock(shared->mutex);
    if (shared->abandoned) {
      lock.unlock();
      if (undo) undo(std::move(result));
      return;
    }
    shared->result = std::move(result);
    shared->changed.notify_one();
  });
  std::unique_lock lock(shared->mutex);
  const bool in_time = shared->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                                [&] { return shared->result.has_value(); });
  if (!in_time) {
    shared->abandoned = true;
    thread.detach();
    return std::nullopt;
  }
  lock.unlock();
  thread.join();
  return std::move(shared->result);
}

}  // namespace shim::bootstrap::pmix
