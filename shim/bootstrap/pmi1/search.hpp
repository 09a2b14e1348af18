// SPDX-License-Identifier: BSD-3-Clause
// The search for a value of another process, with growing pauses while it is not there.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmi1/connection.hpp"
#include "shim/bootstrap/pmi1/published.hpp"

namespace shim::bootstrap::pmi1 {

/// What searches share with their Bootstrap, which they may outlive: then they find nothing any more.
struct SearchGround {
  std::weak_ptr<Use> use;
  std::atomic<std::uint32_t> waiting{0};  // searches that have asked in vain; a statistic: pairs with nothing
  std::atomic<std::uint64_t> retries{0};  // a statistic too
};

/// Does the launcher say that nobody has published this name?
bool is_not_there(const Line& answer);

class Search final : public Pending<Bytes> {
 public:
  Search(std::shared_ptr<SearchGround> ground, std::string world, std::uint32_t rank, std::string key);
  ~Search() override;

  base::Result<std::optional<Bytes>> poll() override;

 private:
  base::Status send();
  base::Result<std::optional<Bytes>> take(const Line& line);
  void pause();
  std::string where() const;

  const std::shared_ptr<SearchGround> ground_;
  const std::string world_;
  const std::uint32_t rank_;
  const std::string key_;
  const base::Nanoseconds begun_ = base::now_ns();
  QuestionPtr question_;  ///< on its way; null while the search pauses
  base::Nanoseconds next_try_ = 0;
  bool is_waiting_ = false;
  Collected collected_;
};

}  // namespace shim::bootstrap::pmi1
