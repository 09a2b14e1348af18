// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/context_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <set>

#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

std::unique_ptr<Context> context(std::uint32_t base, base::ContextPath path = {}) {
  return std::make_unique<Context>(
      nullptr, ContextSpec{std::make_shared<Everyone>(2), 0, nullptr, base, path});
}

/// Return the numbers below `count` in random order.
std::vector<std::uint32_t> shuffled(std::size_t count, unsigned seed) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(seed));
  return numbers;
}

TEST(ContextTable, FindsOnlyAddedContexts) {
  ContextTable table;
  auto one = context(1), two = context(2);
  table.add(*one);
  table.add(*two);
  EXPECT_EQ(table.find(one->id), one.get());
  EXPECT_EQ(table.find(two->id), two.get());
  EXPECT_EQ(table.find(base::context_id(3, {}, false)), nullptr);
  table.remove(*two);
  EXPECT_EQ(table.find(two->id), nullptr);
  EXPECT_EQ(table.find(one->id), one.get());
}

TEST(ContextTable, ReturnsHeldMessagesInOrder) {
  ContextTable table;
  auto made = context(5);
  StoredMessage first({}, Plane::user), second({}, Plane::collective);
  table.hold(made->id, first);
  table.hold(made->id, second);
  EXPECT_EQ(table.add(*made), (std::vector<StoredMessage*>{&first, &second}));
  table.remove(*made);
  EXPECT_TRUE(table.add(*made).empty());
}

TEST(ContextTable, MessagesOfASkippedBaseAreStale) {
  ContextTable table;
  const base::ContextId skipped = base::context_id(5, {}, false),
                        next = base::context_id(6, {}, false);
  StoredMessage late({}, Plane::user), other({}, Plane::user);
  table.hold(skipped, late);
  table.hold(next, other);
  EXPECT_EQ(table.skip_base(5), std::vector<StoredMessage*>{&late});
  EXPECT_TRUE(table.has_ended(skipped));
  EXPECT_FALSE(table.has_ended(next));
  EXPECT_TRUE(table.skip_base(5).empty());
}

TEST(ContextTable, BaseIsOverOnceItsLastContextIs) {
  ContextTable table;
  auto child_path = *base::ContextPath{}.child(1), grandchild_path = *child_path.child(1);
  auto parent = context(9), child = context(9, child_path);
  base::ContextId later = base::context_id(9, grandchild_path, false);
  table.add(*parent);
  table.add(*child);
  table.remove(*parent);
  EXPECT_TRUE(table.has_ended(parent->id));
  EXPECT_FALSE(table.has_ended(child->id));
  EXPECT_FALSE(table.has_ended(later)) << "the child still exists and can be duplicated";
  table.remove(*child);
  EXPECT_TRUE(table.has_ended(child->id));
  EXPECT_TRUE(table.has_ended(later));
}

TEST(ContextTable, BasesEndInAnyOrder) {
  for (unsigned seed = 1; seed < 20; ++seed) {
    ContextTable table;
    std::set<std::uint32_t> over;
    for (std::uint32_t base : shuffled(40, seed)) {
      auto made = context(base);
      table.add(*made);
      table.remove(*made);
      over.insert(base);
      for (std::uint32_t other = 0; other < 42; ++other) {
        ASSERT_EQ(table.has_ended(base::context_id(other, {}, false)), over.contains(other))
            << "seed " << seed;
      }
    }
  }
}

TEST(ContextTable, OnlyFreedDuplicatesAreOver) {
  ContextTable table;
  auto parent = context(9), kept = context(9, *base::ContextPath{}.child(700));
  auto id_of = [](std::uint32_t number) {
    return base::context_id(9, *base::ContextPath{}.child(number), false);
  };
  table.add(*parent);
  table.add(*kept);
  for (std::uint32_t number = 1; number <= 2000; ++number) {
    if (number == 700) continue;
    auto made = context(9, *base::ContextPath{}.child(number));
    table.add(*made);
    table.remove(*made);
  }
  for (std::uint32_t number = 1; number <= 3000; ++number)
    ASSERT_EQ(table.has_ended(id_of(number)), number <= 2000 && number != 700);
  EXPECT_FALSE(table.has_ended(parent->id));
}

TEST(NumberRanges, FreedDuplicatesAreFewRanges) {
  NumberRanges paths;
  for (std::uint32_t number = 1; number <= 100'000; ++number)
    paths.add(base::ContextPath{}.child(number)->bits);
  EXPECT_LE(paths.ranges(), 17u) << "one range for each length of the number";
}

TEST(NumberRanges, ContainsExactlyTheAddedNumbers) {
  for (unsigned seed = 1; seed < 20; ++seed) {
    NumberRanges ranges;
    std::set<std::uint32_t> model;
    for (std::uint32_t number : shuffled(200, seed)) {
      for (int twice = 0; twice < 2; ++twice) ranges.add(number);
      model.insert(number);
      for (std::uint32_t other = 0; other < 202; ++other)
        ASSERT_EQ(ranges.contains(other), model.contains(other)) << "seed " << seed;
    }
    EXPECT_EQ(ranges.ranges(), 1u);
  }
}

TEST(ContextTable, BasesOfAnEarlierIncarnationAreRetired) {
  ContextTable table;
  StoredMessage leftover({}, Plane::user), fresh({}, Plane::user);
  table.hold(base::context_id(6, {}, false), leftover);
  table.hold(base::context_id(7, {}, false), fresh);
  EXPECT_EQ(table.set_first_base(7), std::vector<StoredMessage*>{&leftover});
  EXPECT_TRUE(table.has_ended(base::context_id(6, {}, false)));
  EXPECT_FALSE(table.has_ended(base::context_id(7, {}, false)));
}

}  // namespace
}  // namespace shim::p2p
