// SPDX-License-Identifier: BSD-3-Clause
// Search looks up a value of another process, with exponential back-off.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmix/library.hpp"
#include "shim/bootstrap/pmix/requests.hpp"

namespace shim::bootstrap::pmix {

/// State shared by a Bootstrap and its searches, which may outlive it.
struct SearchContext {
  PmixLibrary library;
  std::shared_ptr<PmixRequestTable> requests;
  std::shared_ptr<GetInterlock> interlock;
  std::atomic<std::uint64_t> retries{0};  // a statistic, pairs with nothing
};

class Search final : public Pending<Bytes> {
 public:
  /// @param on_own_node the owner's server is also this process's server
  Search(std::shared_ptr<SearchContext> context, const pmix_proc_t& owner, std::string key,
         bool on_own_node);

  base::Result<std::optional<Bytes>> poll() override;

 private:
  /// Send the request, unless the interlock is closed.
  void send();
  void pause();
  std::string where() const;

  const std::shared_ptr<SearchContext> context_;
  const pmix_proc_t owner_;
  const std::string key_;
  const bool on_own_node_;
  const base::Nanoseconds begun_ = base::now_ns();
  std::shared_ptr<PmixRequest> request_;  ///< open request; null while the search pauses
  base::Nanoseconds next_try_ = 0;
};

}  // namespace shim::bootstrap::pmix
