// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/pset_record.hpp"

#include <gtest/gtest.h>

namespace shim::sessions {
namespace {

PsetRecord wanted(std::vector<ProcessRange> ranges) {
  return {PsetRecord::State::wanted, "a name", Group::of_ranges(std::move(ranges))};
}

TEST(PsetRecord, RoundTrips) {
  for (const auto& ranges : std::vector<std::vector<ProcessRange>>{
           {{0, 3, 1, 1}}, {{0, 0, 10, 1}}, {{0, 9, 5, -2}, {0, 2, 2, 6}}}) {
    const auto read = decode_pset_record(encode(wanted(ranges)), 10);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, PsetRecord::State::wanted);
    EXPECT_EQ(read->name, "a name");
    EXPECT_EQ(*read->group, *Group::of_ranges(ranges));
  }
  for (PsetRecord::State kind : {PsetRecord::State::granted, PsetRecord::State::withdrawn}) {
    const auto read = decode_pset_record(encode({kind, "b", nullptr}), 1);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, kind);
    EXPECT_EQ(read->name, "b");
  }
}

TEST(PsetRecord, RecordOfAContiguousGroupIsShort) {
  EXPECT_LT(encode(wanted({{0, 0, 1'000'000, 1}})).size(), 40u);
}

TEST(PsetRecord, RefusesUnknownOrRepeatedProcesses) {
  EXPECT_FALSE(decode_pset_record(encode(wanted({{0, 0, 11, 1}})), 10));
  EXPECT_FALSE(decode_pset_record(encode(wanted({{0, 8, 2, 2}})), 10));
  EXPECT_FALSE(decode_pset_record(encode(wanted({{0, 2, 3, -2}})), 10));
  EXPECT_FALSE(decode_pset_record(encode(wanted({{0, 0, 3, 1}, {0, 2, 2, 4}})), 10));
}

TEST(PsetRecord, RefusesOtherBytes) {
  auto bytes = encode(wanted({{0, 0, 2, 1}}));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_pset_record(std::span(bytes.data(), length), 10)) << length;
  auto other = bytes;
  other[0] = std::byte{'Q'};
  EXPECT_FALSE(decode_pset_record(other, 10));
  other = bytes, other[1] = std::byte{'z'};
  EXPECT_FALSE(decode_pset_record(other, 10));
  other = bytes, other[2] = std::byte{0xff}, other[5] = std::byte{0xff};
  EXPECT_FALSE(decode_pset_record(other, 10));
  EXPECT_FALSE(decode_pset_record(encode({PsetRecord::State::granted, "", nullptr}), 10));
}

}  // namespace
}  // namespace shim::sessions
