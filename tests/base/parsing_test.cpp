// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/parsing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace shim::base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TakeUntil, ReturnsEachPartAlsoAnEmptyOne) {
  std::string_view text = "a,,b";
  EXPECT_EQ(take_until(text, ','), "a");
  EXPECT_EQ(take_until(text, ','), "");
  EXPECT_EQ(text, "b");
  EXPECT_EQ(take_until(text, ','), "b");
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(take_until(text, ','), "");
}

TEST(TakeUntil, ASeparatorAtTheEndAddsNoPart) {
  std::string_view text = "line\n";
  EXPECT_EQ(take_until(text, '\n'), "line");
  EXPECT_TRUE(text.empty());
}

TEST(TakeUntil, SplitsAtNulCharacters) {
  const std::string entries("a=1\0b=2\0", 8);
  std::string_view rest = entries;
  EXPECT_EQ(take_until(rest, '\0'), "a=1");
  EXPECT_EQ(take_until(rest, '\0'), "b=2");
  EXPECT_TRUE(rest.empty());
}

TEST(TakeWord, SkipsBlanksOfAnyNumber) {
  std::string_view line = "  4096\t 131072 \r";
  EXPECT_EQ(take_word(line), "4096");
  EXPECT_EQ(take_word(line), "131072");
  EXPECT_EQ(take_word(line), "");
  EXPECT_TRUE(line.empty());
}

TEST(PartsOf, LeavesOutEmptyParts) {
  EXPECT_THAT(parts_of(",a,,bc,", ','), ElementsAre("a", "bc"));
  EXPECT_THAT(parts_of("a b", ','), ElementsAre("a b"));
  EXPECT_THAT(parts_of(",,", ','), IsEmpty());
  EXPECT_THAT(parts_of("", ','), IsEmpty());
}

TEST(TakeNumber, RemovesTheNumberOnly) {
  std::string_view text = "12-34";
  EXPECT_EQ(take_number<std::uint32_t>(text), 12u);
  EXPECT_EQ(text, "-34");
  EXPECT_EQ(take_number<std::uint32_t>(text), std::nullopt);
  EXPECT_EQ(text, "-34");
  EXPECT_EQ(take_number<std::int32_t>(text), -34);
  EXPECT_EQ(take_number<std::int32_t>(text), std::nullopt);
}

TEST(TakeNumber, RefusesANumberThatExceedsItsType) {
  std::string_view text = "256,";
  EXPECT_EQ(take_number<std::uint8_t>(text), std::nullopt);
  EXPECT_EQ(text, "256,");
}

TEST(NumberIn, NeedsTheWholeWord) {
  EXPECT_EQ(number_in<std::uint64_t>("18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  for (const char* none : {"", " 1", "1 ", "1a", "+1", "0x1", "1.5", "18446744073709551616"})
    EXPECT_EQ(number_in<std::uint64_t>(none), std::nullopt) << none;
  EXPECT_EQ(number_in<std::int32_t>("-7"), -7);
}

TEST(ToNumber, FitsASignedNumberOf32Bits) {
  EXPECT_EQ(to_number("0"), 0u);
  EXPECT_EQ(to_number("2147483647"), 2147483647u);
  for (const char* none : {"2147483648", "4294967296", "-1", "", "x"})
    EXPECT_EQ(to_number(none), std::nullopt) << none;
}

}  // namespace
}  // namespace shim::base
