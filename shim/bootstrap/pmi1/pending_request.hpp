// SPDX-License-Identifier: BSD-3-Clause
// PendingRequest is one request of this library to the launcher, and its response.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

/// The thread that reads the connection completes it once; the requester may have dropped it by
/// then.
class PendingRequest {
 public:
  explicit PendingRequest(std::string request)
      : request_(std::move(request)),
        response_kind_(
            response_kind_of(*PmiLine::parse({request_.data(), request_.size() - 1})).value()) {}

  const std::string& request() const { return request_; }
  const std::string& response_kind() const { return response_kind_; }
  bool is_barrier() const { return pmi1::is_barrier(response_kind_); }

  /// Return the response, once; nothing if there is none yet. Never blocks.
  std::optional<base::Result<PmiLine>> take();
  /// Wait for the response for at most `seconds` (0: no limit). Errors: the response's, or other
  /// (timeout).
  base::Result<PmiLine> wait(double seconds);
  void complete(base::Result<PmiLine> response);

 private:
  base::Error timeout_error(double seconds) const;

  const std::string request_;
  const std::string response_kind_;
  std::mutex mutex_;
  std::condition_variable completed_;
  std::optional<base::Result<PmiLine>> response_;
};

using PendingRequestPtr = std::shared_ptr<PendingRequest>;

}  // namespace shim::bootstrap::pmi1
