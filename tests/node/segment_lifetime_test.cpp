// SPDX-License-Identifier: BSD-3-Clause
// Tests the node segment while processes attach, detach and die in every order.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/node/segment_rig.hpp"

namespace shim::node {
namespace {

using testing::Child;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SegmentLifetimeTest : public testing::SegmentTest {
 protected:
  /// Start a child that attaches a slot, becomes ready, and waits until it is killed.
  std::unique_ptr<Child> attached_child(const SegmentSpec& spec) {
    auto child = std::make_unique<Child>([&](Child& self) {
      auto segment = attach(spec);
      segment->context_counter() = 77;
      segment->set_ready();
      self.notify_parent();
      return self.wait_for_parent();
    });
    EXPECT_TRUE(child->wait_for_child());
    return child;
  }
};

/// A barrier of several processes in shared memory that the test maps before it forks them.
class ForkBarrier {
 public:
  ForkBarrier() {
    void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    arrived_ = new (memory) std::atomic<std::uint32_t>(0);
  }
  ~ForkBarrier() { ::munmap(arrived_, 4096); }
  /// Wait until `size` processes have called this `number` times.
  void wait(std::uint32_t size, std::uint32_t number) {
    ++*arrived_;
    while (arrived_->load() < size * number) std::this_thread::yield();
  }

 private:
  std::atomic<std::uint32_t>* arrived_;
};

TEST_F(SegmentLifetimeTest, ConcurrentAttachesShareOneSegment) {
  constexpr std::uint32_t kSize = 6, kRounds = 60;
  ForkBarrier barrier;
  auto body = [&](std::uint32_t me) {
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      barrier.wait(kSize, 2 * round + 1);
      auto segment = attach(spec(me, kSize));
      if (segment->context_counter() != 0)
        return false;  // new in each round, because all processes had detached
      segment->slot(me)[0] = static_cast<std::byte>(round);
      segment->set_ready();
      for (std::uint32_t other = 0; other < kSize; ++other) {
        while (!segment->is_ready(other)) std::this_thread::yield();
        if (segment->slot(other)[0] != static_cast<std::byte>(round)) return false;
      }
      segment->context_counter() = 1;
      barrier.wait(kSize, 2 * round + 2);  // no process detaches before all have checked
    }
    return true;
  };
  std::vector<std::unique_ptr<Child>> children;
  for (std::uint32_t me = 0; me < kSize; ++me)
    children.push_back(std::make_unique<Child>([&, me](Child&) { return body(me); }));
  for (auto& child : children) EXPECT_TRUE(child->finish());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SegmentLifetimeTest, ConcurrentAttachAndDetachNeverFail) {
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

TEST_F(SegmentLifetimeTest, ProcessThatAnErrorEndsHasDiedAndLeavesNoFile) {
  auto watcher = attach(spec(0));
  Child failing([&](Child& self) -> bool {
    auto segment = attach(spec(1));
    segment->set_ready();
    segment->release_file();
    self.notify_parent();
    static_cast<void>(self.wait_for_parent());
    ::_exit(3);
  });
  ASSERT_TRUE(failing.wait_for_child());
  EXPECT_TRUE(watcher->is_alive(1)) << "it may still write its output";
  EXPECT_FALSE(watcher->has_left(1));
  failing.notify_child();
  EXPECT_FALSE(failing.finish());
  EXPECT_TRUE(watcher->has_died(1));
  EXPECT_FALSE(watcher->has_left(1));
  watcher->release_file();
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SegmentLifetimeTest, ProcessThatEndsWithoutDestructorsHasLeft) {
  auto watcher = attach(spec(0));
  Child ending([&](Child&) -> bool {
    auto segment = attach(spec(1));
    segment->set_ready();
    segment->leave_at_once();
    ::_exit(0);
  });
  EXPECT_TRUE(ending.finish());
  EXPECT_TRUE(watcher->has_left(1));
  EXPECT_FALSE(watcher->has_died(1));
}

TEST_F(SegmentLifetimeTest, NextJobRemovesTheSegmentOfAKilledJob) {
  auto first = attached_child(spec(0)), second = attached_child(spec(1));
  first->kill();
  second->kill();
  ASSERT_THAT(files(), ElementsAre(path()));
  auto next = attach(spec(0, 1, "next job"));
  EXPECT_THAT(files(), ElementsAre(path("next job")));
}

TEST_F(SegmentLifetimeTest, CleanupKeepsLiveJobsAndForeignFiles) {
  auto living = attached_child(spec(0, 1, "living job"));
  const std::string foreign = directory_ + "/something-else",
                    of_others = directory_ + "/intersession-4711-00";
  std::ofstream(foreign) << "x";
  std::ofstream(of_others) << "x";
  EXPECT_EQ(remove_unused_segments(directory_), 0);
  EXPECT_THAT(files(), ::testing::UnorderedElementsAre(path("living job"), foreign, of_others));
  EXPECT_EQ(remove_unused_segments(directory_ + "/not-there"), 0);
}

TEST_F(SegmentLifetimeTest, JobOfTheSameNameStartsWithZeroedMemory) {
  attached_child(spec(0))->kill();
  ASSERT_THAT(files(), ElementsAre(path()));
  auto again = attach(spec(0));
  EXPECT_EQ(again->context_counter().load(), 0u);
  EXPECT_EQ(again->slot_generation(0), 1u);
}

TEST_F(SegmentLifetimeTest, SlotOfAKilledProcessCanBeReused) {
  auto watcher = attach(spec(0));
  EXPECT_TRUE(watcher->is_alive(1));
  auto other = attached_child(spec(1));
  EXPECT_TRUE(watcher->is_alive(1));
  EXPECT_TRUE(watcher->is_ready(1));
  other->kill();
  EXPECT_FALSE(watcher->is_alive(1));
  auto successor = attach(spec(1));
  EXPECT_TRUE(watcher->is_alive(1));
  EXPECT_EQ(successor->slot_generation(1), 2u);
  EXPECT_EQ(successor->context_counter().load(), 77u);
}

TEST_F(SegmentLifetimeTest, ZombieIsNotAlive) {
  auto watcher = attach(spec(0));
  auto other = attached_child(spec(1));
  ::kill(other->pid(), SIGKILL);
  other->wait_until_zombie();
  EXPECT_FALSE(watcher->is_alive(1));
}

/// Return the state of the calling process in /proc: Z once its main thread has exited.
char own_state() {
  std::ifstream file("/proc/self/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  return line.at(line.rfind(')') + 2);
}

TEST_F(SegmentLifetimeTest, ProcessWhoseMainThreadHasExitedIsAlive) {
  auto watcher = attach(spec(0));
  Child other([&](Child& self) {
    auto segment = attach(spec(1));
    segment->set_ready();
    std::thread rest([&self] {
      while (own_state() != 'Z') std::this_thread::yield();
      self.notify_parent();
      self.wait_for_parent();
      ::_exit(0);
    });
    ::syscall(SYS_exit, 0);  // ends only this thread, without unwinding
    return false;
  });
  ASSERT_TRUE(other.wait_for_child());
  EXPECT_TRUE(watcher->is_alive(1));
  EXPECT_FALSE(watcher->has_died(1));
  other.notify_child();
  other.wait_until_zombie();
  EXPECT_FALSE(watcher->is_alive(1));
  EXPECT_TRUE(watcher->has_died(1));
}

TEST_F(SegmentLifetimeTest, ForkedChildKeepsTheSegmentOfItsParent) {
  auto segment = attach(spec(0));
  segment->set_ready();
  Child child([&](Child&) {
    segment.reset();
    return true;
  });
  EXPECT_TRUE(child.finish());
  EXPECT_TRUE(segment->is_ready(0));
  EXPECT_THAT(files(), ElementsAre(path()));
  EXPECT_EQ(remove_unused_segments(directory_), 0);  // the lock is still held
  segment.reset();
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SegmentLifetimeTest, ErrorNamesAFileThatStaysLocked) {
  auto owner = attached_child(spec(0));
  auto locker = Child([&](Child& self) {
    int file = ::open(path().c_str(), O_RDWR);
    while (::flock(file, LOCK_EX) != 0) {
    }
    self.notify_parent();
    return self.wait_for_parent();
  });
  owner->kill();
  ASSERT_TRUE(locker.wait_for_child());
  auto error = error_of(NodeSegment::attach(spec(0), 0.05));
  EXPECT_THAT(error.text(), HasSubstr(path() + " stayed locked"));
  locker.kill();
  EXPECT_TRUE(NodeSegment::attach(spec(0), 10));
}

}  // namespace
}  // namespace shim::node
