// SPDX-License-Identifier: BSD-3-Clause
// NativeRequest is one request over several native ones, for functions that the library lacks.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "shim/intercept/handles/polled_request.hpp"

namespace shim::intercept {

/// Completes when all its native requests (parts) have completed, with the status of the first.
class NativeRequest final : public PolledRequest {
 public:
  /// Memory that operations in progress refer to (packed data, arrays of counts), kept until they
  /// complete.
  using Memory = std::shared_ptr<const void>;
  /// Starts an operation; returns an error code, whose handler has run.
  using Begin = std::function<int(MPI_Request*)>;

  NativeRequest() = default;
  /// Make a persistent request; each start begins one operation.
  explicit NativeRequest(Begin begin) : begin_(std::move(begin)) { make_persistent(); }

  // Call before other threads know the object.
  void add(MPI_Request part) { parts_.push_back(part); }
  void keep(Memory memory) { kept_.push_back(std::move(memory)); }
  void keep(std::vector<Memory> memory) { kept_.insert(kept_.end(), memory.begin(), memory.end()); }
  /// Set the last step of the operation, which runs once when all parts are complete. It returns an
  /// error code, whose handler has run.
  void then(std::function<int()> rest) { rest_ = std::move(rest); }

  void advance() override;
  bool needs_native_progress() const override { return true; }
  int describe(MPI_Status* status) override;
  int cancel() override;
  void detach() override;
  int start_code() const override { return start_code_; }

 private:
  base::Status on_start() override;
  bool test_all();

  std::mutex mutex_;  ///< threads may test one request concurrently (MPI_Request_get_status)
  Begin begin_;
  std::function<int()> rest_;
  std::vector<MPI_Request> parts_;
  MPI_Status status_{};
  int code_ = MPI_SUCCESS, start_code_ = MPI_SUCCESS;
  std::vector<Memory> kept_;
};

/// Complete the requests that were freed while their memory was in use. Call before the native
/// library is finalized.
void finish_detached();

}  // namespace shim::intercept
