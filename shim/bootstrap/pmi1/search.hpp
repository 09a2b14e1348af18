// SPDX-License-Identifier: BSD-3-Clause
// Search looks up a value of another process, with exponential back-off.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmi1/connection.hpp"
#include "shim/bootstrap/pmi1/published.hpp"

namespace shim::bootstrap::pmi1 {

/// State shared by a Bootstrap and its searches, which may outlive it and then find nothing.
struct SearchContext {
  std::weak_ptr<ProxyLease> use;
  std::atomic<std::uint32_t> waiting{
      0};  // searches with an unsuccessful request; a statistic, pairs with nothing
  std::atomic<std::uint64_t> retries{0};  // a statistic, pairs with nothing
};

/// True if the launcher reports that the name is not published.
bool is_not_there(const PmiLine& response);

class Search final : public Pending<Bytes> {
 public:
  Search(std::shared_ptr<SearchContext> context, std::string world, std::uint32_t rank,
         std::string key);
  ~Search() override;

  base::Result<std::optional<Bytes>> poll() override;

 private:
  base::Status send();
  base::Result<std::optional<Bytes>> take(const PmiLine& line);
  void pause();
  std::string where() const;

  const std::shared_ptr<SearchContext> context_;
  const std::string world_;
  const std::uint32_t rank_;
  const std::string key_;
  const base::Nanoseconds begun_ = base::now_ns();
  PendingRequestPtr pending_;  ///< open request; null while the search pauses
  base::Nanoseconds next_try_ = 0;
  bool is_waiting_ = false;
  ValueAssembler assembler_;
};

}  // namespace shim::bootstrap::pmi1
