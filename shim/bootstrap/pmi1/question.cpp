// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/question.hpp"

#include <chrono>

namespace shim::bootstrap::pmi1 {

std::optional<base::Result<Line>> Question::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(answer_, std::nullopt);
}

base::Result<Line> Question::wait(double seconds) {
  std::unique_lock lock(mutex_);
  const auto has_come = [this] { return answer_.has_value(); };
  if (seconds <= 0) answered_.wait(lock, has_come);
  else if (!answered_.wait_for(lock, std::chrono::duration<double>(seconds), has_come))
    return base::Error(base::ErrorClass::other, "the launcher (mpiexec) has not answered \"" +
                                                    shown({request_.data(), request_.size() - 1}) + "\" within " +
                                                    std::to_string(seconds) +
                                                    " s: it may be stopped or overloaded; start the job anew, or set "
                                                    "INTERSESSION_READY_TIMEOUT higher");
  return *std::exchange(answer_, std::nullopt);
}

void Question::answer(base::Result<Line> answer) {
  std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
  answered_.notify_all();
}

}  // namespace shim::bootstrap::pmi1
