// SPDX-License-Identifier: BSD-3-Clause
// GetInterlock separates PMIx requests about one process from requests about the job.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "shim/base/clock.hpp"

namespace shim::bootstrap::pmix {

/// Works around a bug of PMIx's client (PMIx 4.2.2; openpmix pull request 4197 explains it): while
/// a request about the whole job (PMIX_RANK_WILDCARD) is in progress, it sends no request about a
/// process, and vice versa. It expects the first response to serve both, but delivers it only to
/// requests with the identical rank. The other request, and all later ones about its process, never
/// complete. So each request about a process needs a Guard, and the interlock is closed while a
/// request about the job is possible. Thread-safe.
class GetInterlock : public std::enable_shared_from_this<GetInterlock> {
 public:
  /// Held from before a request about a process is sent until its response arrives.
  class Guard {
   public:
    explicit Guard(std::shared_ptr<GetInterlock> interlock) : interlock_(std::move(interlock)) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { interlock_->leave(); }

   private:
    const std::shared_ptr<GetInterlock> interlock_;
  };

  /// Return a guard, or null while the interlock is closed; then try again later.
  std::unique_ptr<Guard> try_enter();

  /// Close the interlock until reopen() is called or `seconds` have passed. Wait until all guards
  /// are released, for at most `seconds`.
  void close_for(double seconds);
  void reopen();

 private:
  void leave();

  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  std::optional<base::Deadline> closed_until_;
};

}  // namespace shim::bootstrap::pmix
