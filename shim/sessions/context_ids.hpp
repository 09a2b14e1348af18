// SPDX-License-Identifier: BSD-3-Clause
// ContextIds makes the context bases and the extended ids of a process.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/base/ids.hpp"

namespace shim::sessions {

/// Thread-safe.
class ContextIds {
 public:
  /// shared: counter in the node segment, which the earlier incarnations of this process used; null
  /// without a segment. extended_ids: counter of this OS process. Both outlive this object.
  ContextIds(std::uint32_t rank, std::atomic<std::uint32_t>* shared,
             std::atomic<std::uint64_t>& extended_ids)
      : rank_(rank),
        counter_(shared != nullptr ? *shared : own_counter_),
        extended_ids_(extended_ids),
        // acquire: pairs with the release in take_base of this process's earlier incarnation
        first_base_(counter_.load(std::memory_order_acquire) + 1),
        reserved_base_(take_base()) {}
  ContextIds(const ContextIds&) = delete;
  ContextIds& operator=(const ContextIds&) = delete;

  /// Return the next context base, never used twice while messages for it may be in flight. A
  /// caller that makes no context of it passes it to Vcis::skip_base.
  std::uint32_t take_base() {
    // release: pairs with the acquire in the constructor of this process's next incarnation
    return counter_.fetch_add(1, std::memory_order_release) + 1;
  }
  base::ExtendedId make_extended_id() {
    return {.root = std::uint64_t{rank_} << 32 | reserved_base_,
            // relaxed: a plain count, pairs with nothing
            .counter = extended_ids_.fetch_add(1, std::memory_order_relaxed)};
  }
  /// Return the first base of this incarnation.
  std::uint32_t first_base() const { return first_base_; }
  /// Return the context base without a context, a part of the extended ids that this process makes.
  /// Unique for a process during the lifetime of its node segment, so it also distinguishes
  /// incarnations.
  std::uint32_t reserved_base() const { return reserved_base_; }

 private:
  const std::uint32_t rank_;
  std::atomic<std::uint32_t> own_counter_{0};  ///< used without a segment
  std::atomic<std::uint32_t>& counter_;
  std::atomic<std::uint64_t>& extended_ids_;
  const std::uint32_t first_base_;
  const std::uint32_t reserved_base_;
};

}  // namespace shim::sessions
