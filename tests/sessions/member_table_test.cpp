// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/member_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "shim/sessions/wire_bytes.hpp"
#include "shim/transport/net/net.hpp"

namespace shim::sessions {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Bytes written(const MemberTable& table) {
  ByteWriter out;
  write_table(out, table);
  return out.take();
}

MemberTable read(const Bytes& bytes, std::uint32_t members) {
  ByteReader in(bytes);
  MemberTable table = read_table(in, members);
  EXPECT_TRUE(in.at_end());
  return table;
}

bool is_refused(const Bytes& bytes, std::uint32_t members) {
  ByteReader in(bytes);
  read_table(in, members);
  return !in.at_end();
}

TEST(MemberTable, FindReturnsTheLastValueSet) {
  const Bytes old = bytes_of({1, 2}), later = bytes_of({3, 4, 5});
  MemberTable table(7, {.context_base = 1, .incarnation = 0, .address = old});
  table.set(2, {.context_base = 9});
  table.set(7, {.context_base = 2, .incarnation = 1, .address = later});
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.rank_at(0), 2);
  EXPECT_EQ(table.last(), 7);
  EXPECT_EQ(table.at(7), (MemberEntry{2, 1, later, false}));
  EXPECT_EQ(table.at(2), MemberEntry{9});
  EXPECT_FALSE(table.find(3));
  EXPECT_FALSE(table.find(8));
}

/// Merging random tables gives the result of merging maps.
TEST(MemberTable, MergeKeepsTheNewerEntries) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::map<int, std::uint32_t> expected;
    MemberTable tables[2];
    for (auto& table : tables)
      for (unsigned left = random() % 8; left > 0; --left) {
        const int rank = static_cast<int>(random() % 10);
        const auto base = static_cast<std::uint32_t>(random());
        const Bytes address(rank % 3, static_cast<std::byte>(base));
        table.set(rank, {.context_base = base, .incarnation = 0, .address = address});
        expected[rank] = base;
      }
    tables[0].merge(tables[1]);
    ASSERT_EQ(tables[0].size(), expected.size());
    std::size_t place = 0;
    for (const auto& [rank, base] : expected) {
      EXPECT_EQ(tables[0].rank_at(place), rank);
      const Bytes address(rank % 3, static_cast<std::byte>(base));
      EXPECT_EQ(tables[0].entry_at(place++), (MemberEntry{base, 0, address, false}));
    }
  }
}

TEST(MemberTable, AnyTableRoundTrips) {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    MemberTable table;
    int rank = -1;
    for (unsigned left = random() % 20; left > 0; --left) {
      rank += 1 + (random() % 4 == 0 ? static_cast<int>(random() % 5) : 0);
      const Bytes address(random() % 3 == 0 ? 0 : 1 + random() % 2,
                          static_cast<std::byte>(random() % 4));
      MemberEntry entry{
          .context_base = static_cast<std::uint32_t>(random() % 2 == 0 ? 1 : random()),
          .incarnation = static_cast<std::uint32_t>(random() % 2),
          .address = address};
      entry.node_has_address = address.empty() && random() % 2 == 0;
      table.set(rank, entry);
    }
    const Bytes bytes = written(table);
    EXPECT_EQ(read(bytes, static_cast<std::uint32_t>(rank + 1)), table);
    EXPECT_TRUE(table.empty() || is_refused(bytes, static_cast<std::uint32_t>(rank)))
        << "the table has a member outside a smaller group";
  }
}

TEST(MemberTable, EqualMembersTakeNoBytes) {
  MemberTable table;
  for (int rank = 0; rank < 100'000; ++rank)
    table.set(rank, {.context_base = 3, .incarnation = 0, .address = {}, .node_has_address = true});
  EXPECT_LT(written(table).size(), 16u);
  EXPECT_EQ(read(written(table), 100'000), table);
}

TEST(MemberTable, CommonAddressBytesAreWrittenOnce) {
  constexpr int kMembers = 1000;
  MemberTable table;
  for (int rank = 0; rank < kMembers; ++rank) {
    Bytes address(40, std::byte{9});
    address[3] = static_cast<std::byte>(rank);
    address[30] = static_cast<std::byte>(rank / 256);
    table.set(rank, {.context_base = 3, .incarnation = 0, .address = address});
  }
  EXPECT_LT(written(table).size(), 2 * kMembers + 64u);
  EXPECT_EQ(read(written(table), kMembers), table);
}

TEST(MemberTable, DecodedTableIsLimitedByTheSizeOfTheGroup) {
  ByteWriter out;
  out.small(1'000'000);
  out.small(0);                 // the first rank
  out.number(std::uint8_t{1});  // all of them in the table
  for (const std::uint32_t number : {1'000'000u, 0u, 7u}) out.small(number);
  const Bytes bytes = out.take();
  EXPECT_EQ(read(bytes, 1'000'000).size(), 1'000'000u);
  EXPECT_TRUE(is_refused(bytes, 999'999));
}

TEST(MemberTable, RejectsAddressesThatAreTooLong) {
  constexpr std::size_t kMost = transport::kMaxNetAddressBytes;
  for (const std::size_t length : {kMost, kMost + 1}) {
    const Bytes address(length, std::byte{1});
    const MemberTable table(0, {.context_base = 7, .incarnation = 0, .address = address});
    EXPECT_EQ(is_refused(written(table), 1), length > kMost) << length;
  }
}

TEST(MemberTable, MalformedTablesAreRefused) {
  struct Case {
    const char* what;
    Bytes bytes;
  };
  // number of members; skipped ranks, kind, count, incarnation, base; address length, first
  // address, number of differing bytes, their positions, bytes of the other members
  const Case cases[] = {
      {"an unknown kind", bytes_of({1, 0, 3, 1, 0, 7})},
      {"an empty run", bytes_of({1, 0, 0, 0, 0, 7})},
      {"a run longer than the table", bytes_of({1, 0, 0, 2, 0, 7})},
      {"ranks beyond the group", bytes_of({1, 9, 0, 1, 0, 7})},
      {"an address without bytes", bytes_of({1, 0, 2, 1, 0, 7, 0, 0})},
      {"a byte that differs beyond the address", bytes_of({2, 0, 2, 2, 0, 7, 2, 5, 5, 1, 2, 1})},
      {"differing bytes not in ascending order",
       bytes_of({2, 0, 2, 2, 0, 7, 2, 5, 5, 2, 1, 0, 1, 1})},
      {"ranks that overflow 32 bits",
       bytes_of({2, 1, 0, 1, 0, 7, 0xfe, 0xff, 0xff, 0xff, 0xf, 0, 1, 0, 7})},
      {"a number of six bytes", bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 1})},
      {"a number beyond 32 bits", bytes_of({0xff, 0xff, 0xff, 0xff, 0x7f})}};
  for (const auto& [what, bytes] : cases) EXPECT_TRUE(is_refused(bytes, 8)) << what;
  EXPECT_FALSE(is_refused(bytes_of({2, 0, 2, 2, 0, 7, 2, 5, 5, 2, 0, 1, 1, 1}), 8))
      << "a valid table must be accepted";
}

}  // namespace
}  // namespace shim::sessions
