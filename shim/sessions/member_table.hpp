// SPDX-License-Identifier: BSD-3-Clause
// MemberTable holds the contributions of a creation's members in compact form. With 200,000 members
// the bytes per member matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shim::sessions {

class ByteWriter;
class ByteReader;

/// Contribution of one member. A view: the table, or the caller, owns the bytes.
struct MemberEntry {
  std::uint32_t context_base = 0;  ///< never used twice, so it also identifies the member's call
  std::uint32_t incarnation = 0;   ///< of its address; 0 if there is none
  /// As encoded by its transport; empty if the group stays on one node.
  std::span<const std::byte> address;
  bool node_has_address = false;  ///< the receiver's node has the address, which is not sent
};
bool operator==(const MemberEntry& a, const MemberEntry& b);

/// Rows by group rank, in ascending order.
class MemberTable {
 public:
  MemberTable() = default;
  MemberTable(int rank, const MemberEntry& entry) { set(rank, entry); }

  /// Insert or replace a row; copies the address. Appending takes constant time.
  void set(int rank, const MemberEntry& entry);
  /// Reserve space for additional rows.
  void reserve(std::size_t members, std::size_t address_bytes);
  /// Insert all rows of `newer`, replacing existing ones.
  void merge(const MemberTable& newer);

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  /// Return the highest rank; the table must not be empty.
  int last() const { return rows_.back().rank; }
  std::optional<MemberEntry> find(int rank) const;
  /// Return the entry of a rank that must be present.
  MemberEntry at(int rank) const;
  /// Return the rank and entry of the n-th row.
  int rank_at(std::size_t index) const { return rows_[index].rank; }
  MemberEntry entry_at(std::size_t index) const { return entry_of(rows_[index]); }

 private:
  struct StoredEntry {
    int rank = 0;
    std::uint32_t context_base = 0, incarnation = 0;
    std::uint32_t length : 31 = 0;  ///< of the address
    std::uint32_t node_has_address : 1 = 0;
    std::size_t begin = 0;
  };
  MemberEntry entry_of(const StoredEntry& row) const {
    return {row.context_base, row.incarnation, std::span(addresses_).subspan(row.begin, row.length),
            row.node_has_address != 0};
  }
  StoredEntry add(int rank, const MemberEntry& entry);

  std::vector<StoredEntry> rows_;
  std::vector<std::byte> addresses_;  ///< of all rows, and of replaced ones
};
bool operator==(const MemberTable& a, const MemberTable& b);

/// Write the table. Consecutive members with equal numbers are written once, and so is the common
/// part of their addresses.
void write_table(ByteWriter& out, const MemberTable& table);
/// members: size of the group; a table that names other ranks is malformed.
MemberTable read_table(ByteReader& in, std::uint32_t members);

}  // namespace shim::sessions
