// SPDX-License-Identifier: BSD-3-Clause
// AddressBook maps processes to addresses and to their incarnations. The node segment's table, if
// there is one, holds the addresses; this process records for each peer the incarnation it uses.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "shim/base/ids.hpp"
#include "shim/base/result.hpp"
#include "shim/node/address_table.hpp"
#include "shim/sessions/network_address.hpp"

namespace shim::sessions {

/// Thread-safe. Holds processes of world 0. A process uses one incarnation of each peer;
/// communicators made with an earlier incarnation fail once it learns of a later one.
class AddressBook {
 public:
  /// Use the node's table from now on. Call before the first address.
  void use(node::AddressTable table) { table_.emplace(std::move(table)); }

  /// Record an address. True if the incarnation in use advances; operations with the former one
  /// then end.
  bool record(base::ProcessId process, std::uint32_t incarnation,
              std::span<const std::byte> address);
  /// Record an incarnation whose address another local process inserted into the table. True if the
  /// incarnation in use advances.
  bool record_incarnation(base::ProcessId process, std::uint32_t incarnation);
  /// Return the latest incarnation whose address this node knows, even if this process does not use
  /// it.
  std::optional<std::uint32_t> incarnation_of(base::ProcessId process) const;
  /// True if the other processes of the node can find this address.
  bool node_has_address(base::ProcessId process, std::uint32_t incarnation) const;
  /// Return the address to connect to. Errors: proc_aborted (the process re-initialized since),
  /// intern (address unknown).
  base::Result<NetworkAddress> find(base::ProcessId process) const;

 private:
  std::optional<NetworkAddress> find_any(base::ProcessId process) const;

  std::optional<node::AddressTable> table_;
  mutable std::mutex mutex_;                                 ///< guards own_ and incarnations_
  std::unordered_map<base::ProcessId, NetworkAddress> own_;  ///< addresses outside the table
  std::unordered_map<base::ProcessId, std::uint32_t> incarnations_;  ///< in use; absent: 0
};

}  // namespace shim::sessions
