// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/group_cache.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace shim::sessions {
namespace {

GroupPtr group_of(std::vector<std::uint32_t> ranks) { return Group::of_ranks(ranks); }

TEST(GroupCache, EqualGroupsAreOneObject) {
  GroupCache known;
  const GroupPtr first = known.intern(group_of({3, 1, 4}));
  EXPECT_EQ(known.intern(group_of({3, 1, 4})), first);
  EXPECT_EQ(known.intern(first), first);
  EXPECT_NE(known.intern(group_of({1, 3, 4})), first) << "groups with another order are not equal";
}

TEST(GroupCache, DoesNotKeepGroupsAlive) {
  GroupCache known;
  std::weak_ptr<const Group> watched;
  {
    const GroupPtr group = known.intern(group_of({5, 2}));
    watched = group;
  }
  EXPECT_TRUE(watched.expired());
  const GroupPtr again = group_of({5, 2});
  EXPECT_EQ(known.intern(again), again);
}

TEST(GroupCache, RemovesExpiredGroups) {
  GroupCache known;
  const GroupPtr stays = known.intern(group_of({9, 7}));
  for (std::uint32_t i = 0; i < 1000; ++i)
    EXPECT_EQ(known.intern(group_of({i, i + 7, 2000}))->size(), 3);
  EXPECT_EQ(known.intern(group_of({9, 7})), stays);
}

}  // namespace
}  // namespace shim::sessions
