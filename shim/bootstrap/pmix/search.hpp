// SPDX-License-Identifier: BSD-3-Clause
// The search for a value of another process, with growing pauses while it is not there.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmix/letters.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap::pmix {

/// What searches share with their Bootstrap, which they may outlive.
struct SearchGround {
  Library library;
  std::shared_ptr<PostOffice> office;
  std::shared_ptr<QuestionGate> gate;
  std::atomic<std::uint64_t> retries{0};  // a statistic: pairs with nothing
};

class Search final : public Pending<Bytes> {
 public:
  /// on_own_node: its server and ours are one.
  Search(std::shared_ptr<SearchGround> ground, const pmix_proc_t& owner, std::string key, bool on_own_node);

  base::Result<std::optional<Bytes>> poll() override;

 private:
  /// Nothing while the gate is closed.
  void send();
  void pause();
  std::string where() const;

  const std::shared_ptr<SearchGround> ground_;
  const pmix_proc_t owner_;
  const std::string key_;
  const bool on_own_node_;
  const base::Nanoseconds begun_ = base::now_ns();
  std::shared_ptr<Letter> letter_;  ///< on its way; null while the search pauses
  base::Nanoseconds next_try_ = 0;
};

}  // namespace shim::bootstrap::pmix
