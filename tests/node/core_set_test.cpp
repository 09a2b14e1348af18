// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/core_set.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace shim::node {
namespace {

CoreSet cores(std::initializer_list<int> numbers) {
  CoreSet set;
  for (int number : numbers)
    set.words[static_cast<std::size_t>(number / 64)] |= std::uint64_t{1} << number % 64;
  return set;
}

double per_core(const CoreSet& own, std::initializer_list<CoreSet> all, int unknown = 0) {
  CoreDemand demand(own);
  for (const CoreSet& set : all) demand.add(set);
  for (int i = 0; i < unknown; ++i) demand.add_unknown();
  return demand.per_core();
}

TEST(CoreSet, IsTheAffinityMaskOfTheProcess) {
  std::thread([] {  // the binding ends with this thread
    const CoreSet before = CoreSet::of_this_process();
    ASSERT_GT(before.count(), 0);
    const int core = sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(CoreSet::of_this_process().count(), 1);
    EXPECT_EQ(CoreSet::of_this_process().shared_with(cores({core})), 1);
    EXPECT_EQ(before.shared_with(cores({core})), 1);
  })
      .join();
}

TEST(CoreDemand, CountsProcessesThatMayRunOnTheseCores) {
  const CoreSet one = cores({3}), other = cores({67}), both = cores({3, 67});
  EXPECT_EQ(per_core(one, {one, other}), 1) << "bound to different cores";
  EXPECT_EQ(per_core(one, {one, one}), 2) << "bound to one common core";
  EXPECT_EQ(per_core(both, {both, both}), 1) << "as many processes as cores";
  EXPECT_EQ(per_core(both, {both, both, both, both}), 2);
  EXPECT_EQ(per_core(both, {both, one, other, one}), 2);
  EXPECT_EQ(per_core(one, {one, both}), 1.5);
}

TEST(CoreDemand, AssumesThatUnknownProcessesAreBoundLikeThisOne) {
  const CoreSet one = cores({3}), both = cores({0, 1});
  EXPECT_EQ(per_core(one, {one}, 7), 1) << "this process is bound: the others run on other cores";
  EXPECT_EQ(per_core(both, {both}, 7), 4)
      << "this process is not bound: the others may run on its cores";
}

}  // namespace
}  // namespace shim::node
