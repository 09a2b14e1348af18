// SPDX-License-Identifier: BSD-3-Clause
// One request of ours over several of the library below, for functions that it lacks.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "shim/intercept/own_request.hpp"

namespace shim::intercept {

/// Over when all its parts are; its status is that of the first.
class BelowRequest final : public OwnRequest {
 public:
  /// What operations in progress refer to, kept until they are over for good: packed data, arrays of counts.
  using Memory = std::shared_ptr<const void>;
  /// Begins an operation; answers an error code, whose handler has run.
  using Begin = std::function<int(MPI_Request*)>;

  BelowRequest() = default;
  /// A persistent one, each start of which begins one operation.
  explicit BelowRequest(Begin begin) : begin_(std::move(begin)) { make_persistent(); }

  // Before anybody else knows the object.
  void add(MPI_Request part) { parts_.push_back(part); }
  void keep(Memory memory) { kept_.push_back(std::move(memory)); }
  void keep(std::vector<Memory> memory) { kept_.insert(kept_.end(), memory.begin(), memory.end()); }
  /// Done once, when all parts are over: the rest of the operation. Answers an error code, whose handler has run.
  void then(std::function<int()> rest) { rest_ = std::move(rest); }

  void advance() override;
  bool is_moved_below() const override { return true; }
  int describe(MPI_Status* status) override;
  int cancel() override;
  void let_go() override;
  int start_code() const override { return start_code_; }

 private:
  base::Status on_start() override;
  bool test_all();

  std::mutex mutex_;  ///< threads may look at the same request (MPI_Request_get_status)
  Begin begin_;
  std::function<int()> rest_;
  std::vector<MPI_Request> parts_;
  MPI_Status status_{};
  int code_ = MPI_SUCCESS, start_code_ = MPI_SUCCESS;
  std::vector<Memory> kept_;
};

/// Ends the requests that were given back while memory of ours was still in use; before the library below ends.
void finish_let_go();

}  // namespace shim::intercept
