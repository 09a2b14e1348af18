// SPDX-License-Identifier: BSD-3-Clause
// Tests ContextIds: no number is made twice, also by several incarnations of a process.
#include "shim/sessions/context_ids.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>

namespace shim::sessions {
namespace {

class ContextIdsTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRank = 3;
  std::atomic<std::uint32_t> in_segment_{0};
  std::atomic<std::uint64_t> of_os_process_{0};
};

TEST_F(ContextIdsTest, BasesFollowTheReservedBase) {
  ContextIds ids(kRank, nullptr, of_os_process_);
  EXPECT_EQ(ids.reserved_base(), ids.first_base());
  EXPECT_EQ(ids.take_base(), ids.first_base() + 1);
  EXPECT_EQ(ids.take_base(), ids.first_base() + 2);
}

TEST_F(ContextIdsTest, BasesAreUniqueOverIncarnationsInOneSegment) {
  std::set<std::uint32_t> bases;
  for (int incarnation = 0; incarnation < 3; ++incarnation) {
    ContextIds ids(kRank, &in_segment_, of_os_process_);
    EXPECT_FALSE(bases.contains(ids.first_base()));
    bases.insert(ids.reserved_base());
    bases.insert(ids.take_base());
    bases.insert(ids.take_base());
  }
  EXPECT_EQ(bases.size(), 9u);
  EXPECT_FALSE(bases.contains(0)) << "0 stands for no call in the creation protocol";
}

TEST_F(ContextIdsTest, ExtendedIdsAreUniqueOverIncarnationsWithoutSegment) {
  std::set<std::uint64_t> counters;
  for (int incarnation = 0; incarnation < 3; ++incarnation) {
    ContextIds ids(kRank, nullptr, of_os_process_);
    for (int i = 0; i < 2; ++i) {
      const base::ExtendedId id = ids.make_extended_id();
      EXPECT_EQ(id.root >> 32, kRank);
      EXPECT_EQ(static_cast<std::uint32_t>(id.root), ids.reserved_base());
      counters.insert(id.counter);
    }
  }
  EXPECT_EQ(counters.size(), 6u);
}

}  // namespace
}  // namespace shim::sessions
