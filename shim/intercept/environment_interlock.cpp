// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/environment_interlock.hpp"

namespace shim::intercept {

void EnvironmentInterlock::close_for(double seconds) {
  std::lock_guard lock(mutex_);
  closed_until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds));
}

void EnvironmentInterlock::reopen() {
  std::lock_guard lock(mutex_);
  closed_until_.reset();
  opened_.notify_all();
}

bool EnvironmentInterlock::is_closed() {
  std::lock_guard lock(mutex_);
  return closed_until_ && Clock::now() < *closed_until_;
}

void EnvironmentInterlock::wait_until_open() {
  std::unique_lock lock(mutex_);
  while (closed_until_ && opened_.wait_until(lock, *closed_until_) == std::cv_status::no_timeout) {
  }
}

}  // namespace shim::intercept
