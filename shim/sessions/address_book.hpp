// SPDX-License-Identifier: BSD-3-Clause
// Whom this process can call, and which life of it: the addresses stand in the node's table, where there is one; what is this
// process's own is which life of another it has been told of.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "shim/base/ids.hpp"
#include "shim/base/result.hpp"
#include "shim/bootstrap/address_table.hpp"
#include "shim/sessions/network_address.hpp"

namespace shim::sessions {

/// Thread-safe. Of processes of world 0. A process goes by one life of each other: communicators that were made with an earlier one
/// are of no use when it hears of a later.
class AddressBook {
 public:
  /// Uses the table from now on; before the first address.
  void use(bootstrap::AddressTable table) { table_.emplace(std::move(table)); }

  /// True where it goes by a later life from now on than before: what was under way to the former one ends.
  bool learn(base::ProcessId process, std::uint32_t life, std::span<const std::byte> address);
  /// Likewise, for an address that a process of the own node has put into the table.
  bool learn_life(base::ProcessId process, std::uint32_t life);
  /// The latest life whose address is known on the node, told to this process or not.
  std::optional<std::uint32_t> life_of(base::ProcessId process) const;
  /// Can the other processes of the node find this address?
  bool is_in_table(base::ProcessId process, std::uint32_t life) const;
  /// Where to call it. Errors: proc_aborted (it has begun anew since), intern (nobody has told this process).
  base::Result<NetworkAddress> find(base::ProcessId process) const;

 private:
  std::optional<NetworkAddress> find_any(base::ProcessId process) const;

  std::optional<bootstrap::AddressTable> table_;
  mutable std::mutex mutex_;  ///< guards the next two
  std::unordered_map<base::ProcessId, NetworkAddress> own_;     ///< those that the table does not hold
  std::unordered_map<base::ProcessId, std::uint32_t> lives_;  ///< gone by; those that are not 0
};

}  // namespace shim::sessions
