// SPDX-License-Identifier: BSD-3-Clause
// Calls PMIx functions, which may wait for their server forever, with a timeout.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "shim/base/start_thread.hpp"

namespace shim::bootstrap::pmix {

/// Run `call` on a new thread and wait for it for at most `seconds` (0: no limit, on the calling
/// thread). On timeout, return nothing and detach the thread; if the call returns later, `undo`
/// gets its result on that thread. Both functions must own the data that they use.
template <typename T>
std::optional<T> bounded_call(double seconds, std::function<T()> call,
                              std::function<void(T)> undo = nullptr) {
  if (seconds <= 0) return call();
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<T> result;
    bool abandoned = false;
  };
  auto shared = std::make_shared<Shared>();
  std::thread thread = base::start_thread("of a PMIx call",
                                          [shared, call = std::move(call), undo = std::move(undo)] {
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
