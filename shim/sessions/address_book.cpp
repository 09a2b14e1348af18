// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/address_book.hpp"

#include <algorithm>
#include <string>

namespace shim::sessions {

using base::Error;
using base::ErrorClass;

bool AddressBook::learn_life(base::ProcessId process, std::uint32_t life) {
  if (life == 0) return false;
  std::lock_guard guard(mutex_);
  std::uint32_t& known = lives_[process];
  if (known >= life) return false;
  known = life;
  return true;
}

bool AddressBook::learn(base::ProcessId process, std::uint32_t life, std::span<const std::byte> address) {
  if (!table_ || !table_->insert(process.rank, life, address)) {
    std::lock_guard guard(mutex_);
    NetworkAddress& own = own_[process];
    if (own.bytes.empty() || own.life < life) own = {life, {address.begin(), address.end()}};
  }
  return learn_life(process, life);
}

std::optional<NetworkAddress> AddressBook::find_any(base::ProcessId process) const {
  std::optional<NetworkAddress> best;
  if (auto found = table_ ? table_->find(process.rank) : std::nullopt) best = NetworkAddress{found->life, std::move(found->bytes)};
  std::lock_guard guard(mutex_);
  auto at = own_.find(process);
  if (at != own_.end() && (!best || at->second.life > best->life)) best = at->second;
  return best;
}

std::optional<std::uint32_t> AddressBook::life_of(base::ProcessId process) const {
  const auto in_table = table_ ? table_->life_of(process.rank) : std::nullopt;
  std::lock_guard guard(mutex_);
  const auto at = own_.find(process);
  return at == own_.end() ? in_table : std::max(in_table, std::optional(at->second.life));  // nothing is less than any life
}

bool AddressBook::is_in_table(base::ProcessId process, std::uint32_t life) const {
  const auto found = table_ ? table_->life_of(process.rank) : std::nullopt;
  return found && *found >= life;
}

base::Result<NetworkAddress> AddressBook::find(base::ProcessId process) const {
  auto found = find_any(process);
  std::lock_guard guard(mutex_);
  const auto at = lives_.find(process);
  const std::uint32_t life = at == lives_.end() ? 0 : at->second;
  if (!found || found->life < life) return Error(ErrorClass::intern, "the address of process " + std::to_string(process.rank) + " is not known");
  if (found->life > life)
    return Error(ErrorClass::proc_aborted, "process " + std::to_string(process.rank) +
                                               " has ended its last session and begun anew; communicators of before do not reach it");
  return *std::move(found);
}

}  // namespace shim::sessions
