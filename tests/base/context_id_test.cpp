// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/context_id.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace shim::base {
namespace {

/// Append all descendants with child numbers up to `width` on each of `levels` levels.
void collect(ContextPath path, int levels, std::uint32_t width, std::vector<std::uint32_t>& all) {
  all.push_back(path.bits);
  for (std::uint32_t number = 1; levels > 0 && number <= width; ++number)
    if (auto child = path.child(number)) collect(*child, levels - 1, width, all);
}

TEST(ContextPath, IsUniqueAmongDescendants) {
  for (auto [levels, width] : {std::pair{4, 20u}, {30, 1u}, {12, 2u}, {2, 600u}, {1, 100'000u}}) {
    std::vector<std::uint32_t> all;
    collect({}, levels, width, all);
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size())
        << levels << " levels of " << width << " children";
    EXPECT_GE(all.size(), width);
  }
}

TEST(ContextPath, RejectsChildrenBeyondItsCapacity) {
  EXPECT_TRUE(ContextPath{}.child((1u << 22) - 1));
  EXPECT_FALSE(ContextPath{}.child(1u << 22));
  EXPECT_FALSE(ContextPath{}.child(0));
  ContextPath path;
  for (int level = 0; level < 30; ++level) path = path.child(1).value();
  EXPECT_FALSE(path.child(1));
}

TEST(ContextPath, ConsecutiveChildrenHaveConsecutivePaths) {
  // ContextTable relies on this: it keeps the freed children as a few ranges.
  for (std::uint32_t number : {2u, 4u, 100u, 70'000u})
    EXPECT_EQ(ContextPath{}.child(number)->bits + 1, ContextPath{}.child(number + 1)->bits)
        << number;
}

TEST(ContextId, BasePathAndKindUseSeparateBits) {
  const ContextPath longest = *ContextPath{}.child((1u << 22) - 1);
  EXPECT_EQ(context_id(7, longest, true), context_id(7, longest, false) + 1);
  EXPECT_EQ(context_id(7, longest, true) >> 32, 7u);
  EXPECT_EQ(context_id(7, {}, false), (std::uint64_t{7} << 32) + 2);
}

}  // namespace
}  // namespace shim::base
