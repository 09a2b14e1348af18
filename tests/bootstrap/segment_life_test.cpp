// SPDX-License-Identifier: BSD-3-Clause
// Processes that come, go and die in every order.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/bootstrap/segment_rig.hpp"

namespace shim::bootstrap {
namespace {

using testing::Child;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SegmentLifeTest : public testing::SegmentTest {
 protected:
  /// Attaches a slot, gets ready, and then waits to be killed.
  std::unique_ptr<Child> sitting(const SegmentSpec& spec) {
    auto child = std::make_unique<Child>([&](Child& self) {
      auto segment = attach(spec);
      segment->context_counter() = 77;
      segment->set_ready();
      self.say();
      return self.listen();
    });
    EXPECT_TRUE(child->wait_for_word());
    return child;
  }
};

/// Rounds of several processes that meet in shared memory of the test's own, made before they are forked.
class Rounds {
 public:
  Rounds() {
    void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    arrived_ = new (memory) std::atomic<std::uint32_t>(0);
  }
  ~Rounds() { ::munmap(arrived_, 4096); }
  /// The n-th meeting of `size` processes.
  void meet(std::uint32_t size, std::uint32_t number) {
    ++*arrived_;
    while (arrived_->load() < size * number) std::this_thread::yield();
  }

 private:
  std::atomic<std::uint32_t>* arrived_;
};

TEST_F(SegmentLifeTest, ProcessesThatAttachAtOnceMeetInOneSegment) {
  constexpr std::uint32_t kSize = 6, kRounds = 60;
  Rounds rounds;
  auto body = [&](std::uint32_t me) {
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      rounds.meet(kSize, 2 * round + 1);
      auto segment = attach(spec(me, kSize));
      if (segment->context_counter() != 0) return false;  // made afresh in each round, because all had left
      segment->slot(me)[0] = static_cast<std::byte>(round);
      segment->set_ready();
      for (std::uint32_t other = 0; other < kSize; ++other) {
        while (!segment->is_ready(other)) std::this_thread::yield();
        if (segment->slot(other)[0] != static_cast<std::byte>(round)) return false;
      }
      segment->context_counter() = 1;
      rounds.meet(kSize, 2 * round + 2);  // nobody leaves before all have looked
    }
    return true;
  };
  std::vector<std::unique_ptr<Child>> children;
  for (std::uint32_t me = 0; me < kSize; ++me)
    children.push_back(std::make_unique<Child>([&, me](Child&) { return body(me); }));
  for (auto& child : children) EXPECT_TRUE(child->finish());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SegmentLifeTest, ComingAndGoingWithoutOrderNeverFails) {
  constexpr std::uint32_t kSize = 6;
  std::vector<std::unique_ptr<Child>> children;
  for (std::uint32_t me = 0; me < kSize; ++me)
    children.push_back(std::make_unique<Child>([&, me](Child&) {
      for (int round = 0; round < 300; ++round) {
        auto segment = attach(spec(me, kSize));
        segment->set_ready();
      }
      return true;
    }));
  for (auto& child : children) EXPECT_TRUE(child->finish());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SegmentLifeTest, WhatAKilledJobLeftIsSweptByTheNext) {
  auto first = sitting(spec(0)), second = sitting(spec(1));
  first->kill();
  second->kill();
  ASSERT_THAT(files(), ElementsAre(path()));
  auto next = attach(spec(0, 1, "next job"));
  EXPECT_THAT(files(), ElementsAre(path("next job")));
}

TEST_F(SegmentLifeTest, TheSweepSparesLivingJobsAndForeignFiles) {
  auto living = sitting(spec(0, 1, "living job"));
  const std::string foreign = directory_ + "/something-else", of_others = directory_ + "/intersession-4711-00";
  std::ofstream(foreign) << "x";
  std::ofstream(of_others) << "x";
  EXPECT_EQ(sweep_segments(directory_), 0);
  EXPECT_THAT(files(), ::testing::UnorderedElementsAre(path("living job"), foreign, of_others));
  EXPECT_EQ(sweep_segments(directory_ + "/not-there"), 0);
}

TEST_F(SegmentLifeTest, AJobOfTheSameNameDoesNotTrustTheDeadOnesMemory) {
  sitting(spec(0))->kill();
  ASSERT_THAT(files(), ElementsAre(path()));
  auto again = attach(spec(0));
  EXPECT_EQ(again->context_counter().load(), 0u);
  EXPECT_EQ(again->incarnation(), 0u);
}

TEST_F(SegmentLifeTest, OneThatIsKilledIsSeenToBeDeadAndItsSlotCanBeTakenAgain) {
  auto watcher = attach(spec(0));
  EXPECT_TRUE(watcher->is_alive(1));
  auto other = sitting(spec(1));
  EXPECT_TRUE(watcher->is_alive(1));
  EXPECT_TRUE(watcher->is_ready(1));
  other->kill();
  EXPECT_FALSE(watcher->is_alive(1));
  auto successor = attach(spec(1));
  EXPECT_TRUE(watcher->is_alive(1));
  EXPECT_EQ(successor->incarnation(), 1u);
  EXPECT_EQ(successor->context_counter().load(), 77u);
}

TEST_F(SegmentLifeTest, AZombieIsNotAlive) {
  auto watcher = attach(spec(0));
  auto other = sitting(spec(1));
  ::kill(other->pid(), SIGKILL);
  other->wait_until_zombie();
  EXPECT_FALSE(watcher->is_alive(1));
}

TEST_F(SegmentLifeTest, AForkedChildLeavesItsParentsSegmentAlone) {
  auto segment = attach(spec(0));
  segment->set_ready();
  Child child([&](Child&) {
    segment.reset();
    return true;
  });
  EXPECT_TRUE(child.finish());
  EXPECT_TRUE(segment->is_ready(0));
  EXPECT_THAT(files(), ElementsAre(path()));
  EXPECT_EQ(sweep_segments(directory_), 0);  // the lock is still held
  segment.reset();
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SegmentLifeTest, AFileThatStaysLockedIsNamedAfterTheTime) {
  auto owner = sitting(spec(0));
  auto locker = Child([&](Child& self) {
    int file = ::open(path().c_str(), O_RDWR);
    while (::flock(file, LOCK_EX) != 0) {
    }
    self.say();
    return self.listen();
  });
  owner->kill();
  ASSERT_TRUE(locker.wait_for_word());
  auto error = error_of(NodeSegment::attach(spec(0), 0.05));
  EXPECT_THAT(error.text(), HasSubstr(path() + " stayed locked"));
  locker.kill();
  EXPECT_TRUE(NodeSegment::attach(spec(0), 10));
}

}  // namespace
}  // namespace shim::bootstrap
