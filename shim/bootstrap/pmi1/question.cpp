// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/question.hpp"

#include <chrono>

namespace shim::bootstrap::pmi1 {

std::optional<base::Result<Line>> Question::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(answer_, std::nullopt);
}

base::Error Question::not_answered(double seconds) const {
  std::string text = "the launcher (mpiexec, srun) has not answered \"" +
                     shown({request_.data(), request_.size() - 1}) + "\" within " +
                     std::to_string(seconds) +
                     " s: it may be stopped or overloaded; start the job anew, or set "
                     "INTERSESSION_READY_TIMEOUT higher";
  if (answer_kind_ == "response_to_init")
    text += ". srun --mpi=pmi2 answers this once for each rank: not to a program that has taken "
            "the place of another one by exec";
  return base::Error(base::ErrorClass::other, std::move(text));
}

base::Result<Line> Question::wait(double seconds) {
  std::unique_lock lock(mutex_);
  const auto has_come = [this] { return answer_.has_value(); };
  if (seconds <= 0) answered_.wait(lock, has_come);
  else if (!answered_.wait_for(lock, std::chrono::duration<double>(seconds), has_come))
    return not_answered(seconds);
  return *std::exchange(answer_, std::nullopt);
}

void Question::answer(base::Result<Line> answer) {
  std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
  answered_.notify_all();
}

}  // namespace shim::bootstrap::pmi1
