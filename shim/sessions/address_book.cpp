// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/address_book.hpp"

#include <algorithm>
#include <string>

namespace shim::sessions {

using base::Error;
using base::ErrorClass;

bool AddressBook::record_incarnation(base::ProcessId process, std::uint32_t incarnation) {
  if (incarnation == 0) return false;
  std::lock_guard guard(mutex_);
  std::uint32_t& known = incarnations_[process];
  if (known >= incarnation) return false;
  known = incarnation;
  return true;
}

bool AddressBook::record(base::ProcessId process, std::uint32_t incarnation,
                         std::span<const std::byte> address) {
  if (!table_ || !table_->insert(process.rank, incarnation, address)) {
    std::lock_guard guard(mutex_);
    NetworkAddress& own = own_[process];
    if (own.bytes.empty() || own.incarnation < incarnation)
      own = {incarnation, {address.begin(), address.end()}};
  }
  return record_incarnation(process, incarnation);
}

std::optional<NetworkAddress> AddressBook::find_any(base::ProcessId process) const {
  std::optional<NetworkAddress> best;
  if (auto found = table_ ? table_->find(process.rank) : std::nullopt)
    best = NetworkAddress{found->incarnation, std::move(found->bytes)};
  std::lock_guard guard(mutex_);
  auto at = own_.find(process);
  if (at != own_.end() && (!best || at->second.incarnation > best->incarnation)) best = at->second;
  return best;
}

std::optional<std::uint32_t> AddressBook::incarnation_of(base::ProcessId process) const {
  const auto in_table = table_ ? table_->incarnation_of(process.rank) : std::nullopt;
  std::lock_guard guard(mutex_);
  const auto at = own_.find(process);
  // std::max: nullopt is less than any incarnation
  return at == own_.end() ? in_table : std::max(in_table, std::optional(at->second.incarnation));
}

bool AddressBook::node_has_address(base::ProcessId process, std::uint32_t incarnation) const {
  const auto found = table_ ? table_->incarnation_of(process.rank) : std::nullopt;
  return found && *found >= incarnation;
}

base::Result<NetworkAddress> AddressBook::find(base::ProcessId process) const {
  auto found = find_any(process);
  std::lock_guard guard(mutex_);
  const auto at = incarnations_.find(process);
  const std::uint32_t incarnation = at == incarnations_.end() ? 0 : at->second;
  if (!found || found->incarnation < incarnation)
    return Error(ErrorClass::intern,
                 "the address of process " + std::to_string(process.rank) + " is unknown");
  if (found->incarnation > incarnation)
    return Error(ErrorClass::proc_aborted, "process " + std::to_string(process.rank) +
                                               " has finalized and re-initialized; communicators "
                                               "created before that can no longer reach it");
  return *std::move(found);
}

}  // namespace shim::sessions
