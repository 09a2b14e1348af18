// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/member_table.hpp"

#include <algorithm>

namespace shim::sessions {

bool operator==(const MemberEntry& a, const MemberEntry& b) {
  return a.context_base == b.context_base && a.incarnation == b.incarnation &&
         a.node_has_address == b.node_has_address && std::ranges::equal(a.address, b.address);
}

bool operator==(const MemberTable& a, const MemberTable& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t index = 0; index < a.size(); ++index)
    if (a.rank_at(index) != b.rank_at(index) || a.entry_at(index) != b.entry_at(index))
      return false;
  return true;
}

MemberTable::StoredEntry MemberTable::add(int rank, const MemberEntry& entry) {
  StoredEntry row{.rank = rank,
                  .context_base = entry.context_base,
                  .incarnation = entry.incarnation,
                  .begin = addresses_.size()};
  row.length = static_cast<std::uint32_t>(entry.address.size()) & 0x7fffffffu;
  row.node_has_address = entry.node_has_address;
  addresses_.insert(addresses_.end(), entry.address.begin(), entry.address.end());
  return row;
}

void MemberTable::set(int rank, const MemberEntry& entry) {
  const StoredEntry row = add(rank, entry);
  if (rows_.empty() || rows_.back().rank < rank) return rows_.push_back(row);
  const auto at = std::ranges::lower_bound(rows_, rank, {}, &StoredEntry::rank);
  if (at->rank == rank)
    *at = row;
  else
    rows_.insert(at, row);
}

void MemberTable::reserve(std::size_t members, std::size_t address_bytes) {
  if (rows_.size() + members > rows_.capacity())
    rows_.reserve(std::max(rows_.size() + members, 2 * rows_.capacity()));
  if (addresses_.size() + address_bytes > addresses_.capacity())
    addresses_.reserve(std::max(addresses_.size() + address_bytes, 2 * addresses_.capacity()));
}

void MemberTable::merge(const MemberTable& newer) {
  if (newer.size() == 1)
    return set(newer.rank_at(0), newer.entry_at(0));  // of a member on this node
  const auto old = std::move(rows_);
  rows_.clear();
  rows_.reserve(old.size() + newer.size());
  auto kept = old.begin();
  for (const StoredEntry& row : newer.rows_) {
    for (; kept != old.end() && kept->rank < row.rank; ++kept) rows_.push_back(*kept);
    if (kept != old.end() && kept->rank == row.rank) ++kept;
    rows_.push_back(add(row.rank, newer.entry_of(row)));
  }
  rows_.insert(rows_.end(), kept, old.end());
}

std::optional<MemberEntry> MemberTable::find(int rank) const {
  const auto at = std::ranges::lower_bound(rows_, rank, {}, &StoredEntry::rank);
  if (at == rows_.end() || at->rank != rank) return std::nullopt;
  return entry_of(*at);
}

MemberEntry MemberTable::at(int rank) const { return *find(rank); }

}  // namespace shim::sessions
