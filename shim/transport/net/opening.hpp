// SPDX-License-Identifier: BSD-3-Clause
// The fabric is opened on a thread of its own: libfabric takes 50 to 400 ms, in which this process answers others.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "shim/base/result.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// One opening. Its owner's lock guards it, but for wait().
class Opening {
 public:
  using Opened = base::Result<std::unique_ptr<Transport>>;
  using Open = std::function<Opened()>;

  explicit Opening(Open open);
  /// Waits for the end; what nobody has taken is closed. In a child made by fork() there is nothing to wait for: the thread is the
  /// parent's.
  ~Opening();
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  /// Begins, on a new thread; where none can be made, does all of it. The second time nothing.
  void begin();
  // acquire: pairs with the release at the end of the opening, so that what was opened is seen
  bool is_over() const { return state_.load(std::memory_order_acquire) == State::over; }
  /// Once it is over: what open() has answered; once. Errors: open's.
  Opened take();
  /// Until no opening goes on; from any thread.
  void wait() const;

 private:
  enum class State : std::uint8_t { idle, running, over };
  void run();
  bool is_own_process() const;

  const pid_t maker_;
  Open open_;
  std::optional<Opened> opened_;  ///< the thread's until it is over
  std::atomic<State> state_{State::idle};
  mutable std::mutex mutex_;  ///< for those who wait for the end
  mutable std::condition_variable ended_;
  std::thread thread_;
};

}  // namespace shim::transport
