// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/inmem/inmem.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::inmem {
namespace {

using base::ErrorClass;
using testing::bytes_of;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::must;
using testing::text_of;

std::string result_of(Pending<Bytes>& pending) {
  auto answer = pending.poll();
  if (!answer) return "error: " + answer.error().text();
  return *answer ? text_of(**answer) : "not yet";
}

TEST(InMemory, EachProcessHasItsRankInTheSameWorld) {
  auto launcher = Launcher::start(World::of(2, 3));
  auto four = launcher->open(4);
  EXPECT_EQ(four->name(), "inmem");
  EXPECT_EQ(four->job().rank, 4u);
  EXPECT_EQ(four->job().size, 6u);
  EXPECT_EQ(four->job().world_name, launcher->open(0)->job().world_name);
  EXPECT_EQ(four->location().host, "node1");
  EXPECT_THAT(four->location().local_ranks, ElementsAre(3, 4, 5));
  EXPECT_EQ(four->location().slot_of(4), 1u);
  EXPECT_EQ(must(Launcher::start(World::dealt(3, 7))->open(5)->query_node_map()).node_of(5), 2u);
}

TEST(InMemory, LookupWaitsUntilTheValueIsPublished) {
  auto launcher = Launcher::start(World::of(1, 2));
  auto asker = launcher->open(0), owner = launcher->open(1);
  auto pending = must(asker->lookup(1, "address"));
  EXPECT_EQ(result_of(*pending), "not yet");
  ASSERT_TRUE(asker->publish("address", bytes_of("of the asker")));
  EXPECT_EQ(result_of(*pending), "not yet");
  ASSERT_TRUE(owner->publish("address", bytes_of("here")));
  EXPECT_EQ(result_of(*pending), "here");
  EXPECT_EQ(asker->counts().lookups, 1u);
  EXPECT_EQ(asker->counts().publishes, 1u);
}

TEST(InMemory, PendingLookupOutlivesItsBootstrap) {
  auto launcher = Launcher::start(World::of(1, 2));
  auto owner = launcher->open(1);
  auto pending = must(launcher->open(0)->lookup(1, "k"));
  ASSERT_TRUE(owner->publish("k", bytes_of("v")));
  owner.reset();
  launcher.reset();
  EXPECT_EQ(result_of(*pending), "v");
}

TEST(InMemory, FenceCompletesOnceAllMembersHaveEntered) {
  auto launcher = Launcher::start(World::of(1, 4));
  auto one = launcher->open(1), three = launcher->open(3);
  const std::vector<std::uint32_t> ranks = {1, 3}, turned = {3, 1};
  auto first = must(one->fence(ranks));
  EXPECT_FALSE(must(first->poll()).has_value());
  auto second = must(three->fence(turned));
  EXPECT_TRUE(must(second->poll()).has_value());
  EXPECT_TRUE(must(first->poll()).has_value());
}

TEST(InMemory, NextFenceOverTheSameRanksIsSeparate) {
  auto launcher = Launcher::start(World::of(1, 2));
  auto zero = launcher->open(0), one = launcher->open(1);
  const std::vector<std::uint32_t> both = {0, 1};
  auto early = must(zero->fence(both));
  (void)must(one->fence(both));
  auto late = must(one->fence(both));
  EXPECT_TRUE(must(early->poll()).has_value());
  EXPECT_FALSE(must(late->poll()).has_value());
  EXPECT_EQ(one->counts().fences, 2u);
}

TEST(InMemory, ErrorNamesTheWrongArgument) {
  auto zero = Launcher::start(World::of(1, 2))->open(0);
  EXPECT_EQ(error_of(zero->lookup(2, "k")).error_class(), ErrorClass::rank);
  const std::vector<std::uint32_t> others = {1}, twice = {0, 1, 1}, beyond = {0, 9};
  EXPECT_THAT(error_of(zero->fence(others)).text(), HasSubstr("0 is not a member"));
  EXPECT_THAT(error_of(zero->fence(twice)).text(), HasSubstr("1 is listed twice"));
  EXPECT_EQ(error_of(zero->fence(beyond)).error_class(), ErrorClass::rank);
}

TEST(InMemory, LauncherFaultsDelayFailOrDropALookup) {
  auto launcher = Launcher::start(World::of(1, 4));
  auto zero = launcher->open(0);
  for (std::uint32_t rank = 1; rank < 4; ++rank)
    ASSERT_TRUE(launcher->open(rank)->publish("k", bytes_of("v")));
  launcher->set_faults([](const LauncherCall& operation) {
    if (operation.kind != LauncherCall::Type::lookup) return Fault{};
    return operation.target == 1   ? Fault::slow(2)
           : operation.target == 2 ? Fault::failing()
                                   : Fault::never();
  });
  auto slow = must(zero->lookup(1, "k"));
  EXPECT_EQ(result_of(*slow), "not yet");
  EXPECT_EQ(result_of(*slow), "not yet");
  EXPECT_EQ(result_of(*slow), "v");
  EXPECT_THAT(result_of(*must(zero->lookup(2, "k"))), HasSubstr("lookup of \"k\" of process 2"));
  auto never = must(zero->lookup(3, "k"));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(result_of(*never), "not yet");
}

TEST(InMemory, LauncherFaultsFailFencesAndPublications) {
  auto launcher = Launcher::start(World::of(1, 1));
  auto zero = launcher->open(0);
  const std::vector<std::uint32_t> me = {0};
  launcher->set_faults([](const LauncherCall&) { return Fault::failing(); });
  EXPECT_FALSE(zero->publish("k", bytes_of("v")));
  EXPECT_FALSE(must(zero->fence(me))->poll());
  EXPECT_FALSE(zero->named_sets());
  launcher->set_faults([](const LauncherCall&) { return Fault::slow(1); });
  auto fence = must(zero->fence(me));
  EXPECT_FALSE(must(fence->poll()).has_value());
  EXPECT_TRUE(must(fence->poll()).has_value());
}

TEST(InMemory, FindsSetsThatAppearLater) {
  auto launcher = Launcher::start(World::of(1, 2));
  auto zero = launcher->open(0);
  EXPECT_TRUE(must(zero->named_sets()).empty());
  launcher->set_named_sets({{"app://ocean", {1, 0}}});
  auto sets = must(zero->named_sets());
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_THAT(sets[0].ranks, ElementsAre(1, 0));
}

TEST(InMemory, AbortIsRecorded) {
  auto launcher = Launcher::start(World::of(1, 2));
  launcher->open(1)->abort(7, "enough");
  ASSERT_EQ(launcher->aborts().size(), 1u);
  EXPECT_EQ(launcher->aborts()[0].rank, 1u);
  EXPECT_EQ(launcher->aborts()[0].exit_code, 7);
  EXPECT_EQ(launcher->aborts()[0].text, "enough");
}

TEST(InMemory, ThreadsExchangeAllToAll) {
  constexpr std::uint32_t kSize = 4;
  auto launcher = Launcher::start(World::of(2, 2));
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kSize; ++rank)
    threads.emplace_back([&launcher, rank] {
      auto self = launcher->open(rank);
      ASSERT_TRUE(self->publish("rank", bytes_of(std::to_string(rank))));
      for (std::uint32_t other = 0; other < kSize; ++other) {
        auto pending = must(self->lookup(other, "rank"));
        std::string answer;
        while ((answer = result_of(*pending)) == "not yet") std::this_thread::yield();
        EXPECT_EQ(answer, std::to_string(other));
      }
      const std::vector<std::uint32_t> all = {0, 1, 2, 3};
      auto fence = must(self->fence(all));
      while (!must(fence->poll())) std::this_thread::yield();
    });
  for (auto& thread : threads) thread.join();
}

TEST(InMemory, EveryProcessReadsEveryEntry) {
  auto launcher = Launcher::start(World::of(1, 3));
  auto zero = launcher->open(0), two = launcher->open(2);
  ASSERT_TRUE(two->append_log(bytes_of("a")));
  ASSERT_TRUE(zero->append_log(bytes_of("b")));
  ASSERT_TRUE(two->append_log(bytes_of("c")));
  const auto entries = must(launcher->open(1)->read_log());
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[2].writer, 2u);
  EXPECT_EQ(entries[2].index, 1u);
  EXPECT_EQ(text_of(entries[2].bytes), "c");
  launcher->set_faults([](const LauncherCall&) { return Fault::failing(); });
  EXPECT_THAT(error_of(zero->append_log(bytes_of("d"))).text(), HasSubstr("fail"));
  EXPECT_THAT(error_of(zero->read_log()).text(), HasSubstr("fail"));
}

}  // namespace
}  // namespace shim::bootstrap::inmem
