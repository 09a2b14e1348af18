// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/known_groups.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace shim::sessions {
namespace {

GroupPtr group_of(std::vector<std::uint32_t> ranks) { return Group::of_ranks(ranks); }

TEST(KnownGroups, EqualGroupsAreOneObject) {
  KnownGroups known;
  const GroupPtr first = known.same_as(group_of({3, 1, 4}));
  EXPECT_EQ(known.same_as(group_of({3, 1, 4})), first);
  EXPECT_EQ(known.same_as(first), first);
  EXPECT_NE(known.same_as(group_of({1, 3, 4})), first) << "the order counts";
}

TEST(KnownGroups, KeepsNoneAlive) {
  KnownGroups known;
  std::weak_ptr<const Group> watched;
  {
    const GroupPtr group = known.same_as(group_of({5, 2}));
    watched = group;
  }
  EXPECT_TRUE(watched.expired());
  const GroupPtr again = group_of({5, 2});
  EXPECT_EQ(known.same_as(again), again);
}

TEST(KnownGroups, ManyThatComeAndGo) {
  KnownGroups known;
  const GroupPtr stays = known.same_as(group_of({9, 7}));
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(known.same_as(group_of({i, i + 7, 2000}))->size(), 3);
  EXPECT_EQ(known.same_as(group_of({9, 7})), stays);
}

}  // namespace
}  // namespace shim::sessions
