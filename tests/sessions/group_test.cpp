// SPDX-License-Identifier: BSD-3-Clause
// Compares groups with a simple model: a vector of processes.
#include "shim/sessions/group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace shim::sessions {
namespace {

using base::ErrorClass;
using base::ProcessId;
using Model = std::vector<ProcessId>;

Model model_of(const Group& group) {
  Model model;
  for (const ProcessRange& range : group.ranges())
    for (std::uint32_t i = 0; i < range.count; ++i)
      model.push_back({range.world, static_cast<std::uint32_t>(range.at(i))});
  return model;
}

GroupPtr group_of(const Model& model) {
  std::vector<ProcessRange> ranges;
  for (ProcessId p : model) ranges.push_back({p.world, p.rank, 1, 1});
  return Group::of_ranges(std::move(ranges));
}

bool holds(const Model& model, ProcessId process) {
  return std::find(model.begin(), model.end(), process) != model.end();
}

/// Return a random group of a kind that programs make: contiguous, strided, reversed or shuffled
/// ranks of one or two worlds.
Model random_model(std::mt19937& random) {
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Model model;
  for (int part = pick(0, 4); part > 0; --part) {
    int start = pick(0, 60), count = pick(1, 25), stride = pick(-5, 5);
    std::uint32_t world = pick(0, 5) == 0 ? 1 : 0;
    if (stride == 0) stride = 1;
    for (int i = 0; i < count; ++i) {
      int rank = start + i * stride;
      ProcessId process{world, static_cast<std::uint32_t>(rank)};
      if (rank >= 0 && !holds(model, process)) model.push_back(process);
    }
  }
  if (pick(0, 3) == 0) std::shuffle(model.begin(), model.end(), random);
  return model;
}

class GroupModel : public testing::TestWithParam<unsigned> {
 protected:
  std::mt19937 random{GetParam()};
};

TEST_P(GroupModel, RanksAndProcessesAreInverse) {
  for (int round = 0; round < 200; ++round) {
    Model model = random_model(random);
    GroupPtr group = group_of(model);
    ASSERT_EQ(group->size(), static_cast<int>(model.size()));
    ASSERT_EQ(model_of(*group), model);
    for (int i = 0; i < group->size(); ++i) {
      ASSERT_EQ(group->at(i), model[static_cast<std::size_t>(i)]);
      ASSERT_EQ(group->rank_of(group->at(i)), i);
    }
    for (std::uint32_t world : {0u, 1u})
      for (std::uint32_t rank = 0; rank < 200; ++rank)
        if (!holds(model, {world, rank})) {
          ASSERT_EQ(group->rank_of({world, rank}), kUndefined);
        }
  }
}

TEST_P(GroupModel, EqualGroupsHaveEqualRangesFromAnyPieces) {
  for (int round = 0; round < 200; ++round) {
    Model model = random_model(random);
    GroupPtr whole = group_of(model);
    std::vector<ProcessRange> pieces;  // the same processes, every range cut at random places
    for (ProcessRange range : whole->ranges())
      while (range.count > 0) {
        std::uint32_t part = std::uniform_int_distribution<std::uint32_t>(1, range.count)(random);
        pieces.push_back({range.world, range.start, part, range.stride});
        range = {range.world, static_cast<std::uint32_t>(range.at(part)), range.count - part,
                 range.stride};
      }
    GroupPtr again = Group::of_ranges(pieces);
    ASSERT_EQ(*whole, *again) << whole->text() << " and " << again->text();
  }
}

TEST_P(GroupModel, SetOperationsMatchTheModel) {
  for (int round = 0; round < 300; ++round) {
    Model a = random_model(random), b = random_model(random), joined = a, common, difference;
    for (ProcessId p : b)
      if (!holds(a, p)) joined.push_back(p);
    for (ProcessId p : a) (holds(b, p) ? common : difference).push_back(p);
    GroupPtr ga = group_of(a), gb = group_of(b);
    ASSERT_EQ(model_of(*set_union(*ga, *gb)), joined) << ga->text() << gb->text();
    ASSERT_EQ(model_of(*set_intersection(*ga, *gb)), common) << ga->text() << gb->text();
    ASSERT_EQ(model_of(*set_difference(*ga, *gb)), difference) << ga->text() << gb->text();
    ASSERT_EQ(*set_difference(*ga, *gb), *group_of(difference));
    Model sorted_a = a, sorted_b = b;
    std::sort(sorted_a.begin(), sorted_a.end());
    std::sort(sorted_b.begin(), sorted_b.end());
    Comparison expected = a == b                 ? Comparison::identical
                          : sorted_a == sorted_b ? Comparison::similar
                                                 : Comparison::unequal;
    ASSERT_EQ(compare(*ga, *gb), expected);
    std::shuffle(sorted_a.begin(), sorted_a.end(), random);
    ASSERT_EQ(compare(*ga, *group_of(sorted_a)),
              a == sorted_a ? Comparison::identical : Comparison::similar);
  }
}

TEST_P(GroupModel, InclAndExclMatchTheModel) {
  for (int round = 0; round < 200; ++round) {
    Model model = random_model(random), included, excluded;
    GroupPtr group = group_of(model);
    std::vector<int> ranks(model.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), random);
    ranks.resize(ranks.size() / 2);
    for (int rank : ranks) included.push_back(model[static_cast<std::size_t>(rank)]);
    for (ProcessId p : model)
      if (!holds(included, p)) excluded.push_back(p);
    ASSERT_EQ(model_of(**include(*group, ranks)), included);
    ASSERT_EQ(model_of(**exclude(*group, ranks)), excluded);
  }
}

TEST_P(GroupModel, RangeInclAndRangeExclMatchTheModel) {
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int accepted = 0;
  for (int round = 0; round < 400; ++round) {
    Model model = random_model(random), included, excluded;
    GroupPtr group = group_of(model);
    int size = group->size();
    if (size == 0) continue;
    std::vector<Triplet> triplets;
    bool is_valid = true;
    for (int n = pick(0, 2); n >= 0; --n) {
      int first = pick(0, size - 1), last = pick(0, size - 1), stride = pick(1, 4);
      if (first > last) stride = -stride;
      triplets.push_back({first, last, stride});
      for (int r = first; stride > 0 ? r <= last : r >= last; r += stride) {
        if (holds(included, model[static_cast<std::size_t>(r)])) is_valid = false;
        included.push_back(model[static_cast<std::size_t>(r)]);
      }
    }
    auto got = range_include(*group, triplets);
    ASSERT_EQ(got.has_value(), is_valid);
    if (!is_valid) {
      ASSERT_EQ(got.error().error_class(), ErrorClass::rank);
      continue;
    }
    ++accepted;
    for (ProcessId p : model)
      if (!holds(included, p)) excluded.push_back(p);
    ASSERT_EQ(model_of(**got), included);
    ASSERT_EQ(model_of(**range_exclude(*group, triplets)), excluded);
  }
  ASSERT_GT(accepted, 50);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GroupModel, testing::Values(1u, 2u, 3u, 20261u));

TEST(Group, WorldOfAnySizeIsOneRange) {
  GroupPtr world = Group::of_ranges({{0, 0, 2'000'000'000, 1}});
  GroupPtr odd = *range_include(*world, std::vector<Triplet>{{1, 1'999'999'999, 2}});
  EXPECT_EQ(odd->ranges().size(), 1u);
  EXPECT_EQ(odd->size(), 1'000'000'000);
  GroupPtr even = set_difference(*world, *odd);
  EXPECT_EQ(even->ranges().size(), 1u);
  EXPECT_EQ(even->at(999'999'999), (ProcessId{0, 1'999'999'998}));
  EXPECT_EQ(set_intersection(*odd, *even)->size(), 0);
  GroupPtr reversed = *range_include(*world, std::vector<Triplet>{{1'999'999'999, 0, -1}});
  EXPECT_EQ(reversed->text(), "{1999999999-0:-1}");
  EXPECT_EQ(compare(*world, *reversed), Comparison::similar);
}

TEST(Group, TextIsReadable) {
  EXPECT_EQ(Group::empty()->text(), "{}");
  std::vector<std::uint32_t> ranks = {0, 1, 2, 3, 7, 9, 11, 13};
  EXPECT_EQ(Group::of_ranks(ranks)->text(), "{0-3, 7-13:2}");
  EXPECT_EQ(Group::of_ranks(std::vector<std::uint32_t>{0, 5, 6})->text(), "{0, 5, 6}");
  EXPECT_EQ(Group::of_ranges({{2, 4, 3, 1}})->text(), "{world 2:4-6}");
  std::vector<std::uint32_t> squares;
  for (std::uint32_t i = 0; i < 200; ++i) squares.push_back(i * i);
  EXPECT_LT(Group::of_ranks(squares)->text().size(), 400u);
  EXPECT_NE(Group::of_ranks(squares)->text().find("200 processes in all"), std::string::npos);
}

TEST(Group, MisuseNamesTheArgument) {
  GroupPtr group = Group::of_ranges({{0, 10, 5, 1}});
  auto class_of = [](const base::Result<GroupPtr>& result) {
    return result ? ErrorClass::success : result.error().error_class();
  };
  EXPECT_EQ(class_of(include(*group, std::vector<int>{0, 5})), ErrorClass::rank);
  EXPECT_EQ(class_of(include(*group, std::vector<int>{-1})), ErrorClass::rank);
  EXPECT_EQ(class_of(exclude(*group, std::vector<int>{3, 3})), ErrorClass::rank);
  auto twice = include(*group, std::vector<int>{1, 4, 1});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().text().find("rank 1 is listed twice"), std::string::npos);
  EXPECT_EQ(class_of(range_include(*group, std::vector<Triplet>{{0, 4, 0}})), ErrorClass::arg);
  EXPECT_EQ(class_of(range_include(*group, std::vector<Triplet>{{3, 1, 1}})), ErrorClass::arg);
  EXPECT_EQ(class_of(range_include(*group, std::vector<Triplet>{{0, 5, 1}})), ErrorClass::rank);
  EXPECT_EQ(class_of(range_include(*group, std::vector<Triplet>{{0, 6, 4}})),
            ErrorClass::success);  // 0 and 4
  EXPECT_EQ(class_of(range_exclude(*group, std::vector<Triplet>{{0, 4, 2}, {4, 1, -3}})),
            ErrorClass::rank);
}

TEST(Group, TranslatesRanks) {
  GroupPtr a = Group::of_ranges({{0, 10, 5, 1}}), b = Group::of_ranges({{0, 14, 3, -1}});
  auto ranks = translate(*a, std::vector<int>{4, 0, p2p::kProcNull, 2}, *b);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(*ranks, (std::vector<int>{0, kUndefined, p2p::kProcNull, 2}));
  auto bad = translate(*a, std::vector<int>{0, 5}, *b);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().error_class(), ErrorClass::rank);
}

}  // namespace
}  // namespace shim::sessions
