// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/pending_request.hpp"

#include <chrono>

namespace shim::bootstrap::pmi1 {

std::optional<base::Result<PmiLine>> PendingRequest::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(response_, std::nullopt);
}

base::Error PendingRequest::timeout_error(double seconds) const {
  std::string text = "the launcher (mpiexec, srun) has not answered \"" +
                     shown({request_.data(), request_.size() - 1}) + "\" within " +
                     std::to_string(seconds) +
                     " s: it may be stopped or overloaded; restart the job, or increase "
                     "INTERSESSION_READY_TIMEOUT";
  if (response_kind_ == "response_to_init")
    text += ". srun --mpi=pmi2 answers this request once per rank, and not again after exec";
  return base::Error(base::ErrorClass::other, std::move(text));
}

base::Result<PmiLine> PendingRequest::wait(double seconds) {
  std::unique_lock lock(mutex_);
  const auto is_completed = [this] { return response_.has_value(); };
  if (seconds <= 0)
    completed_.wait(lock, is_completed);
  else if (!completed_.wait_for(lock, std::chrono::duration<double>(seconds), is_completed))
    return timeout_error(seconds);
  return *std::exchange(response_, std::nullopt);
}

void PendingRequest::complete(base::Result<PmiLine> response) {
  std::lock_guard lock(mutex_);
  response_ = std::move(response);
  completed_.notify_all();
}

}  // namespace shim::bootstrap::pmi1
