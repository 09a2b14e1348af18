// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/request/native_request.hpp"

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/abi/status.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/request/completion.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

/// Requests that the user has freed before completion. Never destroyed: their memory may be in use
/// until the program ends.
struct DetachedRequests {
  std::mutex mutex;
  std::vector<NativeRequest*> requests;
};
DetachedRequests& detached_requests() {
  static DetachedRequests& kept = *new DetachedRequests;
  return kept;
}

/// Destroy the completed requests and return the number of the others.
std::size_t release_finished() {
  DetachedRequests& all = detached_requests();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.requests, [](NativeRequest* request) {
    request->advance();
    if (!request->is_done()) return false;
    p2p::Engine::release(request);
    return true;
  });
  return all.requests.size();
}

}  // namespace

base::Status NativeRequest::on_start() {
  std::lock_guard lock(mutex_);
  parts_.assign(1, abi::predefined.request_null);
  status_ = {};
  code_ = MPI_SUCCESS;
  start_code_ = begin_(&parts_[0]);
  if (start_code_ != MPI_SUCCESS)
    return base::Error(base::ErrorClass::other, "the native MPI library did not start the request");
  return {};
}

bool NativeRequest::test_all() {
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

void NativeRequest::advance() {
  std::lock_guard lock(mutex_);
  if (is_done() || !intercept::is_active() || !test_all()) return;
  if (rest_ && code_ == MPI_SUCCESS) code_ = rest_();
  if (!is_persistent()) kept_.clear();
  complete({});
}

int NativeRequest::describe(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) {
    int error = status->MPI_ERROR;  // set only by multiple completions (MPI-4.1 §3.2.5)
    *status = status_;
    status->MPI_ERROR = error;
  }
  return code_;
}

/// Cancel only the first part, which is the receive if there is one. MPI libraries do not cancel
/// sends anyway.
int NativeRequest::cancel() {
  std::lock_guard lock(mutex_);
  return is_done() || parts_.empty() || parts_[0] == abi::predefined.request_null
             ? MPI_SUCCESS
             : active_table.Cancel(&parts_[0]);
}

void NativeRequest::detach() {
  release_finished();
  if (is_done()) return p2p::Engine::release(this);
  DetachedRequests& all = detached_requests();
  std::lock_guard lock(all.mutex);
  all.requests.push_back(this);
}

void finish_detached() {
  static_cast<void>(
      spin_until([] { return release_finished() == 0; }, [] { return base::Status{}; }));
}

}  // namespace shim::intercept
