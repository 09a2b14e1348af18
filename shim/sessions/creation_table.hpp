// SPDX-License-Identifier: BSD-3-Clause
// What the members of a creation bring, in one table that is passed on as a whole: with 200,000 of them what one costs counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shim::sessions {

class ByteWriter;
class ByteReader;

/// What one member brings. A view: the bytes belong to the table, or to whoever made it.
struct Entry {
  std::uint32_t context_base = 0;      ///< never used twice, so it also tells this call of the member from its others
  std::uint32_t life = 0;              ///< of its address; 0 where there is none
  std::span<const std::byte> address;  ///< as its transport made it; empty where the group stays on one node
  bool is_in_table = false;            ///< the receiver's node has the address, which is not sent
};
bool operator==(const Entry& a, const Entry& b);

/// By group rank, in ascending order.
class MemberTable {
 public:
  MemberTable() = default;
  MemberTable(int rank, const Entry& entry) { set(rank, entry); }

  /// In place of what is there. The address is copied. At the end it costs nothing to find the place.
  void set(int rank, const Entry& entry);
  /// For so many more.
  void reserve(std::size_t members, std::size_t address_bytes);
  /// Takes over all that the other holds.
  void merge(const MemberTable& newer);

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  /// The highest rank; there must be one.
  int last() const { return rows_.back().rank; }
  std::optional<Entry> find(int rank) const;
  /// It must be there.
  Entry at(int rank) const;
  /// What is at the n-th place, and whose it is.
  int rank_at(std::size_t place) const { return rows_[place].rank; }
  Entry entry_at(std::size_t place) const { return entry_of(rows_[place]); }

 private:
  struct Row {
    int rank = 0;
    std::uint32_t context_base = 0, life = 0;
    std::uint32_t length : 31 = 0;  ///< of the address
    std::uint32_t is_in_table : 1 = 0;
    std::size_t begin = 0;
  };
  Entry entry_of(const Row& row) const {
    return {row.context_base, row.life, std::span(addresses_).subspan(row.begin, row.length), row.is_in_table != 0};
  }
  Row add(int rank, const Entry& entry);

  std::vector<Row> rows_;
  std::vector<std::byte> addresses_;  ///< of all rows, and of those that they have replaced
};
bool operator==(const MemberTable& a, const MemberTable& b);

/// Members that follow each other and differ in no number are written once for all, and of their addresses what they have in common.
void write_table(ByteWriter& out, const MemberTable& table);
/// members: of the group; a table that names others is not well formed.
MemberTable read_table(ByteReader& in, std::uint32_t members);

}  // namespace shim::sessions
