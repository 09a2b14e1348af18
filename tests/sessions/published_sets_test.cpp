// SPDX-License-Identifier: BSD-3-Clause
// Tests process sets that processes publish, and that all processes see equal sets.
#include "shim/sessions/published_sets.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "shim/bootstrap/inmem/inmem.hpp"
#include "shim/sessions/process_sets.hpp"
#include "shim/sessions/pset_names.hpp"

namespace shim::sessions {
namespace {

using base::ErrorClass;
using bootstrap::inmem::Fault;
using bootstrap::inmem::Launcher;
using bootstrap::inmem::LauncherCall;
using bootstrap::inmem::World;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// The process sets known to one process of the job.
struct Member {
  Member(Launcher& launcher, std::uint32_t rank, base::Settings settings = {})
      : bootstrap(launcher.open(rank)), sets(settings, *bootstrap, log) {}
  std::unique_ptr<bootstrap::Bootstrap> bootstrap;
  base::Log log{base::LogLevel::off};
  ProcessSets sets;
};

GroupPtr range(std::uint32_t start, std::uint32_t count, std::int32_t stride = 1) {
  return Group::of_ranges({{0, start, count, stride}});
}

ErrorClass class_of(const base::Status& status) {
  return status ? ErrorClass::success : status.error().error_class();
}

struct PublishedSetsTest : ::testing::Test {
  std::shared_ptr<Launcher> launcher = Launcher::start(World::of(2, 3));
  Member zero{*launcher, 0}, one{*launcher, 1}, five{*launcher, 5};
};

TEST_F(PublishedSetsTest, PublishedSetsAreFoundByAll) {
  EXPECT_FALSE(five.sets.find("pair"));
  ASSERT_TRUE(zero.sets.publish("pair", range(5, 2, -3)));
  for (Member* member : {&five, &one, &zero}) {
    EXPECT_THAT(member->sets.names(), Contains("pair"));
    auto found = member->sets.find("pair");
    ASSERT_TRUE(found);
    EXPECT_EQ(**found, *range(5, 2, -3)) << "the order of the group must be kept";
  }
}

TEST_F(PublishedSetsTest, RepublishingTheSameSetSucceedsAndAnotherFails) {
  ASSERT_TRUE(zero.sets.publish("a", range(0, 2)));
  EXPECT_TRUE(zero.sets.publish("a", range(0, 2)));
  EXPECT_TRUE(one.sets.publish("a", range(0, 2)));
  for (Member* member : {&zero, &five}) {
    const auto refused = member->sets.publish("a", range(1, 2, -1));
    EXPECT_EQ(class_of(refused), ErrorClass::name);
    EXPECT_THAT(refused.error().text(), HasSubstr("\"a\""));
  }
  EXPECT_EQ(**five.sets.find("a"), *range(0, 2));
  EXPECT_TRUE(five.sets.publish("b", range(1, 2, -1)));
}

TEST_F(PublishedSetsTest, RefusesReservedNamesAndInvalidGroups) {
  launcher->set_named_sets({{"app://ocean", {1, 0}}});
  base::Settings settings;
  settings.psets = "mine=0-1";
  Member user(*launcher, 2, settings);
  EXPECT_EQ(class_of(user.sets.publish("", range(0, 1))), ErrorClass::arg);
  EXPECT_EQ(class_of(user.sets.publish("MPI://mine", range(0, 1))), ErrorClass::arg);
  EXPECT_EQ(class_of(user.sets.publish("mpix://mine", range(0, 1))), ErrorClass::arg);
  EXPECT_EQ(class_of(user.sets.publish("x", Group::empty())), ErrorClass::group);
  EXPECT_EQ(class_of(user.sets.publish("x", Group::of_ranges({{0, 0, 1, 1}, {1, 0, 1, 1}}))),
            ErrorClass::group);
  EXPECT_EQ(class_of(user.sets.publish("mine", range(0, 3))), ErrorClass::name);
  EXPECT_TRUE(user.sets.publish("mine", range(0, 2)));
  EXPECT_EQ(class_of(user.sets.publish("app://ocean", range(0, 2))), ErrorClass::name);
  EXPECT_TRUE(user.sets.publish("app://ocean", range(1, 2, -1)));
  EXPECT_THAT(zero.sets.names(), Not(Contains("x")));
}

TEST_F(PublishedSetsTest, RefusesGroupsWithTooManyRanges) {
  auto large = Launcher::start(World::of(1, 40'000));
  Member member(*large, 0);
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0, step = 1; rank < 40'000; rank += step, step = step % 5 + 1)
    ranks.push_back(rank);
  EXPECT_EQ(class_of(member.sets.publish("irregular", Group::of_ranks(ranks))), ErrorClass::arg);
  EXPECT_TRUE(member.sets.publish("regular", range(0, 20'000, 2)));
}

TEST_F(PublishedSetsTest, LaterSetsOfTheLauncherAreFound) {
  EXPECT_THAT(one.sets.names(), Not(Contains("app://ocean")));
  launcher->set_named_sets({{"app://ocean", {1, 0}}});
  EXPECT_THAT(one.sets.names(), Contains("app://ocean"));
  EXPECT_EQ(**one.sets.find("app://ocean"), *range(1, 2, -1));
}

TEST_F(PublishedSetsTest, FailedPublicationDoesNotBlockOthers) {
  int appends = 0;
  launcher->set_faults([&](const LauncherCall& operation) {
    return operation.kind == LauncherCall::Type::append_log && ++appends == 2 ? Fault::failing()
                                                                              : Fault();
  });
  EXPECT_EQ(class_of(zero.sets.publish("a", range(0, 1))),
            ErrorClass::other);  // the second log entry, which confirms the name, failed
  EXPECT_FALSE(one.sets.find("a"));
  launcher->set_faults(nullptr);
  EXPECT_EQ(class_of(one.sets.publish("a", range(0, 2))), ErrorClass::name)
      << "the name is still reserved by process 0";
  EXPECT_TRUE(zero.sets.publish("a", range(0, 3)))
      << "process 0 may publish another group under the name";
  EXPECT_EQ(**five.sets.find("a"), *range(0, 3));
}

TEST_F(PublishedSetsTest, OtherSetsRemainWithoutTheLauncher) {
  launcher->set_faults([](const LauncherCall& operation) {
    return operation.kind == LauncherCall::Type::read_log ? Fault::failing() : Fault();
  });
  EXPECT_TRUE(zero.sets.find("mpi://WORLD"));
  EXPECT_THAT(zero.sets.names(), Contains("mpi://WORLD"));
  EXPECT_FALSE(zero.sets.find("a"));
  EXPECT_EQ(class_of(zero.sets.publish("a", range(0, 1))), ErrorClass::other);
}

TEST_F(PublishedSetsTest, ConcurrentDifferentSetsAreNeverBothPublished) {
  int both_refused = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string name = "set" + std::to_string(round);
    std::atomic<int> ready{0}, published{0};
    const auto publish = [&](Member& member, const GroupPtr& group) {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      if (member.sets.publish(name, group)) ++published;
    };
    std::thread one_of_them(publish, std::ref(zero), range(0, 2)),
        other(publish, std::ref(five), range(1, 2));
    one_of_them.join();
    other.join();
    EXPECT_LE(published, 1);
    if (published == 0) ++both_refused;
    const auto found = one.sets.find(name), found_by_other = five.sets.find(name);
    EXPECT_EQ(static_cast<bool>(found), published == 1);
    ASSERT_EQ(static_cast<bool>(found_by_other), published == 1);
    if (found)
      EXPECT_EQ(**found, **found_by_other);
    else
      EXPECT_TRUE(five.sets.publish(name, range(1, 2)))
          << "after both have withdrawn, a process may try again";
  }
  RecordProperty("both_refused", both_refused);
}

}  // namespace
}  // namespace shim::sessions
