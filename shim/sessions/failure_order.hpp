// SPDX-License-Identifier: BSD-3-Clause
// FailureOrder is the order in which a program sees failed members (MPIX_Comm_get_failed of ULFM).
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

namespace shim::sessions {

/// World ranks of failed members. An intercommunicator learns of failures in two contexts, so a
/// concatenated list could reorder; this list only grows at its end. Thread-safe.
class FailureOrder {
 public:
  /// Append the new ones of `known`, and return all.
  std::vector<std::uint32_t> extend(const std::vector<std::uint32_t>& known) {
    std::lock_guard guard(mutex_);
    for (std::uint32_t process : known)
      if (std::ranges::find(order_, process) == order_.end()) order_.push_back(process);
    return order_;
  }

 private:
  std::mutex mutex_;  ///< guards order_
  std::vector<std::uint32_t> order_;
};

}  // namespace shim::sessions
