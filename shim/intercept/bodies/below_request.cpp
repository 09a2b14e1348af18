// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/below_request.hpp"

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/abi/status.hpp"
#include "shim/intercept/bodies/completion.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

/// Given back by the user, but not over. Never destroyed: what is left in it is in use to the end of the program.
struct LetGo {
  std::mutex mutex;
  std::vector<BelowRequest*> requests;
};
LetGo& let_go_requests() {
  static LetGo& kept = *new LetGo;
  return kept;
}

/// Those that are over by now go. Answers how many are left.
std::size_t sweep() {
  LetGo& all = let_go_requests();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.requests, [](BelowRequest* request) {
    request->advance();
    if (!request->is_done()) return false;
    p2p::Engine::release(request);
    return true;
  });
  return all.requests.size();
}

}  // namespace

base::Status BelowRequest::on_start() {
  std::lock_guard lock(mutex_);
  parts_.assign(1, abi::predefined.request_null);
  status_ = {};
  code_ = MPI_SUCCESS;
  start_code_ = begin_(&parts_[0]);
  if (start_code_ != MPI_SUCCESS) return base::Error(base::ErrorClass::other, "the MPI library below has not started it");
  return {};
}

bool BelowRequest::test_all() {
  bool all = true;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i] == abi::predefined.request_null) continue;
    int flag = 0;
    MPI_Status status{};
    int code = active_table.Test(&parts_[i], &flag, &status);
    if (flag == 0 && code == MPI_SUCCESS) {
      all = false;
      continue;
    }
    if (code != MPI_SUCCESS && code_ == MPI_SUCCESS) code_ = code;
    parts_[i] = abi::predefined.request_null;
    if (i == 0) status_ = status;
  }
  return all;
}

void BelowRequest::advance() {
  std::lock_guard lock(mutex_);
  if (is_done() || !intercept::is_active() || !test_all()) return;
  if (rest_ && code_ == MPI_SUCCESS) code_ = rest_();
  if (!is_persistent()) kept_.clear();
  complete({});
}

int BelowRequest::describe(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) {
    int error = status->MPI_ERROR;  // only set where a call completes several (MPI-4.1 §3.2.5)
    *status = status_;
    status->MPI_ERROR = error;
  }
  return code_;
}

/// The first alone: a receive, where there is one. Sends of MPI libraries are not cancelled anyway.
int BelowRequest::cancel() {
  std::lock_guard lock(mutex_);
  return is_done() || parts_.empty() || parts_[0] == abi::predefined.request_null ? MPI_SUCCESS : active_table.Cancel(&parts_[0]);
}

void BelowRequest::let_go() {
  sweep();
  if (is_done()) return p2p::Engine::release(this);
  LetGo& all = let_go_requests();
  std::lock_guard lock(all.mutex);
  all.requests.push_back(this);
}

void finish_let_go() {
  static_cast<void>(spin_until([] { return sweep() == 0; }, [] { return base::Status{}; }));
}

}  // namespace shim::intercept
