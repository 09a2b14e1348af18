// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/opening.hpp"

#include <unistd.h>

#include <system_error>
#include <utility>

#include "shim/base/signals_blocked.hpp"

namespace shim::transport {

Opening::Opening(Open open) : maker_(::getpid()), open_(std::move(open)) {}

Opening::~Opening() {
  if (!thread_.joinable()) return;
  if (is_own_process()) thread_.join();
  else thread_.detach();
}

bool Opening::is_own_process() const { return ::getpid() == maker_; }

void Opening::run() {
  opened_.emplace(open_());
  std::lock_guard guard(mutex_);
  state_.store(State::over, std::memory_order_release);  // pairs with is_over()
  ended_.notify_all();
}

void Opening::begin() {
  State idle = State::idle;
  if (!state_.compare_exchange_strong(idle, State::running, std::memory_order_relaxed)) return;
  base::SignalsBlocked blocked;  // the new thread begins with the mask of its maker
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // no threads to be had
    run();
  }
}

Opening::Opened Opening::take() {
  if (thread_.joinable()) thread_.join();
  return std::move(*std::exchange(opened_, std::nullopt));
}

void Opening::wait() const {
  if (!is_own_process()) return;
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return state_.load(std::memory_order_relaxed) != State::running; });
}

}  // namespace shim::transport
