// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/get_interlock.hpp"

#include <chrono>

namespace shim::bootstrap::pmix {

std::unique_ptr<GetInterlock::Guard> GetInterlock::try_enter() {
  std::lock_guard lock(mutex_);
  if (closed_until_ && !closed_until_->passed()) return nullptr;
  ++inside_;
  return std::make_unique<Guard>(shared_from_this());
}

void GetInterlock::leave() {
  std::lock_guard lock(mutex_);
  --inside_;
  changed_.notify_all();
}

void GetInterlock::close_for(double seconds) {
  std::unique_lock lock(mutex_);
  closed_until_ = base::Deadline::after_seconds(seconds);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return inside_ == 0; });
}

void GetInterlock::reopen() {
  std::lock_guard lock(mutex_);
  closed_until_.reset();
}

}  // namespace shim::bootstrap::pmix
