// SPDX-License-Identifier: BSD-3-Clause
// What a node root does before it can send to the one above it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shim/sessions/address_lookup.hpp"

namespace shim::base {
class Operation;
}

namespace shim::sessions {

class Process;

/// One node root's way to its parent in one creation: the fence over the node roots where the strategy has one (exchange.hpp), then a
/// direct get of the parent's address, which needs nobody else. A parent whose address is known from earlier is not looked up, and while
/// there is a connection with it, nor is a newer one.
class ParentSearch {
 public:
  /// roots: world ranks of all node roots of the creation; parent: one of them, or nothing for the leader.
  ParentSearch(Process& process, std::vector<std::uint32_t> roots, std::optional<std::uint32_t> parent);

  /// Does not block. True while the way is free: the fence is over, and (but for the leader) an address is learned that is not
  /// known to be out of use. Worth polling until the parent has answered.
  base::Result<bool> poll();
  /// The life of the parent that the way leads to; of no meaning for the leader.
  std::uint32_t life() const { return life_; }
  /// The parent has ended this life, and given back what it had from us: wait for its next one.
  void parent_has_left(std::uint32_t life);

 private:
  base::Result<bool> fence_is_over();
  bool is_in_touch();
  base::Status look_for_parent();

  Process& process_;
  std::vector<std::uint32_t> roots_;
  std::optional<std::uint32_t> parent_;
  bool fence_over_ = false;
  std::unique_ptr<bootstrap::Pending<bootstrap::Done>> fence_;
  std::optional<AddressLookup> lookup_;
  bool in_touch_ = false;
  base::Nanoseconds next_check_ = 0;  ///< of that
  std::uint32_t life_ = 0;
  std::optional<std::uint32_t> ended_life_;
};

/// With exchange=world_fence: the fence that every creation begins with, also for those who are not in its group and call with
/// the empty one. Collective over the job; blocks, making progress.
base::Status fence_world(Process& process, const base::Operation& during);

}  // namespace shim::sessions
