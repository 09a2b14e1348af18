// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/integers.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace shim::coll {
namespace {

template <typename T>
class IntegersOfType : public testing::Test {};
using Kinds = testing::Types<int, long, long long>;
TYPED_TEST_SUITE(IntegersOfType, Kinds);

TYPED_TEST(IntegersOfType, ReadsAllElements) {
  const TypeParam most = std::numeric_limits<TypeParam>::max();
  const std::vector<TypeParam> list = {3, -4, most, 0};
  const Integers view(list);
  ASSERT_EQ(view.size(), 4u);
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(view[i], list[i]);
  EXPECT_EQ(view.sum(), static_cast<std::int64_t>(most) - 1);
  EXPECT_EQ(view.largest(), static_cast<std::uint64_t>(most));
}

TYPED_TEST(IntegersOfType, CanStartInsideAnArray) {
  const TypeParam list[] = {1, 2, 3};
  EXPECT_EQ(Integers(list + 1, 1)[0], 2);
}

TEST(Integers, CanBeEmpty) {
  EXPECT_TRUE(Integers().empty());
  EXPECT_EQ(Integers().sum(), 0);
  EXPECT_EQ(Integers(std::vector<int>{-1}).largest(), 0u);
}

}  // namespace
}  // namespace shim::coll
