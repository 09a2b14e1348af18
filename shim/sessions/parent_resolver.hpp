// SPDX-License-Identifier: BSD-3-Clause
// ParentResolver prepares a node leader's messages to its parent in a creation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shim/sessions/address_lookup.hpp"

namespace shim::base {
class TracedOperation;
}

namespace shim::sessions {

class Process;

/// Completes the strategy's fence over the node leaders, if any (exchange_strategy.hpp), then looks
/// up the parent's address. The lookup involves no other process. Skips the lookup if the address
/// is known, and looks for no newer one while a connection to the parent exists.
class ParentResolver {
 public:
  /// node_leaders: world ranks of all node leaders of the creation; parent: one of them, or nothing
  /// for the root.
  ParentResolver(Process& process, std::vector<std::uint32_t> node_leaders,
                 std::optional<std::uint32_t> parent);

  /// True if messages can be sent: the fence is over and, except for the root, an address is
  /// known that is not out of use. Does not block. Keep polling until the parent has answered.
  base::Result<bool> poll();
  /// Return the parent's incarnation that messages go to; meaningless for the root.
  std::uint32_t incarnation() const { return incarnation_; }
  /// Wait for the parent's next incarnation: the parent ended this one and returned this process's
  /// contribution.
  void on_parent_left(std::uint32_t incarnation);

 private:
  base::Result<bool> poll_fence();
  bool has_live_connection();
  base::Status look_up_parent();

  Process& process_;
  std::vector<std::uint32_t> node_leaders_;
  std::optional<std::uint32_t> parent_;
  bool fence_done_ = false;
  std::unique_ptr<bootstrap::Pending<bootstrap::Done>> fence_;
  std::optional<AddressLookup> lookup_;
  bool has_connection_ = false;
  base::Nanoseconds next_check_ = 0;  ///< time of the next connection check
  std::uint32_t incarnation_ = 0;
  std::optional<std::uint32_t> ended_incarnation_;
};

/// Run the fence that begins a creation with exchange=world_fence. Processes outside the group call
/// with the empty group. A group of one process needs no addresses, so its creation has no fence
/// and remains local. Collective over the job; blocks and makes progress.
base::Status fence_world(Process& process, const base::TracedOperation& during);

}  // namespace shim::sessions
