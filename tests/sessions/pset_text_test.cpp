// SPDX-License-Identifier: BSD-3-Clause
// Tests the parser of users' process set definitions, valid and invalid.
#include "shim/sessions/pset_text.hpp"

#include <gtest/gtest.h>

namespace shim::sessions {
namespace {

std::string shown(const PsetText& text) {
  std::string result;
  for (const NamedGroup& set : text.sets) result += set.name + "=" + set.group->text() + " ";
  return result;
}

TEST(PsetText, ParsesSets) {
  PsetText text = parse_psets("ocean=0-3;atmosphere=4-7", ';', 16);
  EXPECT_EQ(shown(text), "ocean={0-3} atmosphere={4-7} ");
  EXPECT_TRUE(text.complaints.empty());
  text = parse_psets(" a = 0-3 , 8, 10-14:2 ; ; b=5;", ';', 16);
  EXPECT_EQ(shown(text), "a={0-3, 8-14:2} b={5} ");
  EXPECT_TRUE(text.complaints.empty());
}

TEST(PsetText, SetOfAMillionRanksIsOneRange) {
  PsetText text = parse_psets("all=0-999999", ';', 1'000'000);
  ASSERT_EQ(text.sets.size(), 1u);
  EXPECT_EQ(text.sets[0].group->ranges().size(), 1u);
}

TEST(PsetText, FilesHaveLinesAndComments) {
  PsetText text = parse_psets(
      "# sets of the coupled model\nocean = 0-3   # four\r\n\natmosphere=4-9:9,2\n", '\n', 8);
  EXPECT_EQ(shown(text), "ocean={0-3} atmosphere={4, 2} ");
  text = parse_psets("a=1\nb=2,x\nc=3", '\n', 8);
  EXPECT_EQ(shown(text), "a={1} c={3} ");
  ASSERT_EQ(text.complaints.size(), 1u);
  EXPECT_EQ(text.complaints[0].line, 2);
  EXPECT_EQ(text.complaints[0].column, 5);
}

struct Wrong {
  const char* text;
  int column;
  const char* complaint;
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.text; }

class InvalidPsetText : public testing::TestWithParam<Wrong> {};

TEST_P(InvalidPsetText, IsReportedWithItsPositionAndOtherSetsAreKept) {
  std::string all = std::string(GetParam().text) + ";good=1";
  PsetText text = parse_psets(all, ';', 8);
  EXPECT_EQ(shown(text), "good={1} ");
  ASSERT_EQ(text.complaints.size(), 1u);
  EXPECT_EQ(text.complaints[0].column, GetParam().column) << text.complaints[0].text;
  EXPECT_NE(text.complaints[0].text.find(GetParam().complaint), std::string::npos)
      << text.complaints[0].text;
}

INSTANTIATE_TEST_SUITE_P(
    All, InvalidPsetText,
    testing::Values(Wrong{"ocean", 1, "missing \"=\""}, Wrong{" =0-3", 2, "missing set name"},
                    Wrong{"a=", 3, "a rank"}, Wrong{"a=0-", 5, "the last rank"},
                    Wrong{"a=0-3:", 7, "a stride"}, Wrong{"a=0-3:0", 3, "invalid stride 0"},
                    Wrong{"a=3-0", 3, "is descending"},
                    Wrong{"a=1,8", 5, "rank 8 does not exist; mpi://WORLD has ranks 0 to 7"},
                    Wrong{"a=0-3,2", 7, "rank 2 is listed twice"},
                    Wrong{"a=0 1", 5, "unexpected text"}, Wrong{"a=99999999999", 3, "too large"},
                    Wrong{"a=-1", 3, "a rank"}, Wrong{"mpi://mine=0", 1, "reserved"},
                    Wrong{"MPIX://x=0", 1, "reserved"}, Wrong{"a=0-7:4294967295", 3, "stride"},
                    Wrong{"a=0=1", 4, "unexpected text"}));

// A parser with quadratic time in the number of lines, or of items in a line, exceeds the time
// limit of the test.
TEST(PsetText, ReadsManySetsInLinearTime) {
  constexpr std::uint32_t kSets = 400'000;
  std::string all;
  for (std::uint32_t i = 0; i < kSets; ++i)
    all += "set" + std::to_string(i) + " = " + std::to_string(i % 8) + "\n";
  const PsetText text = parse_psets(all, '\n', 8);
  EXPECT_EQ(text.sets.size(), kSets);
  EXPECT_TRUE(text.complaints.empty());
}

TEST(PsetText, ReadsManyItemsOfOneSetInLinearTime) {
  constexpr std::uint32_t kRanks = 400'000;
  std::string all = "even=0";
  for (std::uint32_t rank = 2; rank < kRanks; rank += 2) all += "," + std::to_string(rank);
  PsetText text = parse_psets(all, ';', kRanks);
  ASSERT_EQ(text.sets.size(), 1u);
  EXPECT_EQ(text.sets[0].group->size(), kRanks / 2);
  text = parse_psets(all + ",100", ';', kRanks);
  ASSERT_EQ(text.complaints.size(), 1u);
  EXPECT_NE(text.complaints[0].text.find("rank 100 is listed twice"), std::string::npos)
      << text.complaints[0].text;
}

TEST(PsetText, SecondSetOfANameIsIgnored) {
  PsetText text = parse_psets("a=1;a=2", ';', 8);
  EXPECT_EQ(shown(text), "a={1} ");
  ASSERT_EQ(text.complaints.size(), 1u);
  EXPECT_EQ(text.complaints[0].column, 5);
}

}  // namespace
}  // namespace shim::sessions
