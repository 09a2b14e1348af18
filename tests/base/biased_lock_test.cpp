// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/biased_lock.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "shim/base/clock.hpp"

namespace shim::base {
namespace {

TEST(BiasedLock, StaysItsFirstThreads) {
  BiasedLock lock;
  for (int i = 0; i < 3; ++i) std::lock_guard guard(lock);
  EXPECT_FALSE(lock.is_shared());
  std::thread([&] { std::lock_guard guard(lock); }).join();
  EXPECT_TRUE(lock.is_shared());
  std::lock_guard guard(lock);
}

TEST(BiasedLock, ASecondThreadWaitsUntilTheFirstIsOut) {
  BiasedLock lock;
  std::atomic<bool> is_second_in{false};
  std::unique_lock guard(lock);
  std::thread second([&] {
    std::lock_guard mine(lock);
    is_second_in = true;
  });
  while (!lock.is_shared()) std::this_thread::yield();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();  // its chance to get in
  EXPECT_FALSE(is_second_in);
  guard.unlock();
  second.join();
  EXPECT_TRUE(is_second_in);
}

TEST(BiasedLock, IsTriedByItsOwnerWithoutBeingShared) {
  BiasedLock lock;
  { std::lock_guard guard(lock); }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  EXPECT_FALSE(lock.is_shared());
}

TEST(BiasedLock, IsTriedInVainWhileAnotherThreadHasIt) {
  BiasedLock lock;
  std::thread([&] { std::lock_guard guard(lock); }).join();
  bool was_free = false, is_free = true;
  std::thread([&] { was_free = lock.try_lock(), lock.unlock(); }).join();
  EXPECT_TRUE(was_free);
  std::lock_guard guard(lock);
  std::thread([&] { is_free = lock.try_lock(); }).join();
  EXPECT_FALSE(is_free);
}

// As below, by those who only try.
TEST(BiasedLock, LetsOneInAtATimeOfThoseWhoTry) {
  constexpr int kThreads = 3, kTimes = 500;
  for (int repeat = 0; repeat < 50; ++repeat) {
    BiasedLock lock;
    int count = 0;
    std::latch start(kThreads);
    auto work = [&] {
      start.arrive_and_wait();
      for (int left = kTimes; left > 0;) {
        std::unique_lock guard(lock, std::try_to_lock);
        if (guard.owns_lock()) ++count, --left;
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(count, kThreads * kTimes);
  }
}

// The count is plain: lost where two are inside at once, and a data race for a sanitizer. Many locks, for each is shared but once.
TEST(BiasedLock, LetsOneInAtATime) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    constexpr int kThreads = 3, kTimes = 500;
    BiasedLock lock;
    int count = 0;
    std::latch start(kThreads);
    auto work = [&] {
      start.arrive_and_wait();
      for (int i = 0; i < kTimes; ++i) {
        std::lock_guard guard(lock);
        ++count;
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(count, kThreads * kTimes);
  }
}

TEST(BiasedLock, OutlivesItsFirstThread) {
  BiasedLock lock;
  std::thread([&] { std::lock_guard guard(lock); }).join();
  std::lock_guard guard(lock);
}

TEST(BiasedLock, ChangesHands) {
  BiasedLock lock;
  std::thread([&] {
    { std::lock_guard guard(lock); }
    lock.change_hands();
  }).join();
  for (int i = 0; i < 3; ++i) std::lock_guard guard(lock);
  EXPECT_FALSE(lock.is_shared()) << "it is this thread's now";
  std::thread([&] { lock.change_hands(); }).join();
  EXPECT_FALSE(lock.is_shared());
  std::thread([&] { std::lock_guard guard(lock); }).join();
  EXPECT_TRUE(lock.is_shared()) << "who does not own it has nothing to give";
}

// While two others come, either of which may be the next owner.
TEST(BiasedLock, LetsOneInAtATimeWhileItChangesHands) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    constexpr int kThreads = 3, kTimes = 300;
    BiasedLock lock;
    int count = 0;
    std::latch start(kThreads);
    auto work = [&](bool leaves) {
      start.arrive_and_wait();
      for (int i = 0; i < kTimes; ++i) {
        std::lock_guard guard(lock);
        ++count;
      }
      if (leaves) lock.change_hands();
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i == 0);
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(count, kThreads * kTimes);
  }
}

void take(BiasedLock& lock, std::uint32_t times) {
  for (std::uint32_t i = 0; i < times; ++i) std::lock_guard guard(lock);
}

TEST(BiasedLock, IsItsFirstThreadsAgainOnceThatIsAloneForLong) {
  BiasedLock lock;
  take(lock, 1);
  std::thread([&] { take(lock, BiasedLock::kTimesUntilOwned - 1); }).join();
  EXPECT_TRUE(lock.is_shared());
  take(lock, BiasedLock::kTimesUntilOwned - 1);
  EXPECT_TRUE(lock.is_shared()) << "others' times do not count";
  take(lock, 1);
  EXPECT_FALSE(lock.is_shared());
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  EXPECT_FALSE(lock.is_shared());
  std::thread([&] { take(lock, 2 * BiasedLock::kTimesUntilOwned); }).join();
  EXPECT_TRUE(lock.is_shared()) << "it is nobody else's";
}

/// Delays whoever it meets: now and then one that has seen that the lock is its own and has not entered yet.
void delay(int) { ::usleep(300); }

// The first thread is stopped again and again, wherever it is, while the other takes the lock as often as would make it its own. That it
// becomes the first one's again in between is looked at, too.
TEST(BiasedLock, LetsOneInAtATimeWhileItChangesBetweenOwnedAndShared) {
  constexpr int kTurns = 100;
  struct sigaction action {}, before {};
  action.sa_handler = delay;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  BiasedLock lock;
  std::uint64_t count = 0, owned = 0;  // plain: lost where two are inside at once
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> by_first{0}, times_owned{0};
  std::latch start(2);
  std::thread first([&] {
    take(lock, 1);
    start.arrive_and_wait();
    std::uint64_t taken = 0;
    for (bool was_shared = false; !stop; ++taken) {
      std::lock_guard guard(lock);
      ++count;
      const bool is_shared = lock.is_shared();
      owned += was_shared && !is_shared;
      was_shared = is_shared;
      if (taken % 1024 == 0) times_owned = owned;
    }
    by_first = taken;
  });
  start.arrive_and_wait();
  std::uint64_t taken = 0;
  bool is_regained = true;
  for (int turn = 0; turn < kTurns && is_regained; ++turn) {
    ::pthread_kill(first.native_handle(), SIGUSR1);
    for (std::uint32_t i = 0; i < BiasedLock::kTimesUntilOwned + 50; ++i, ++taken) {
      std::lock_guard guard(lock);
      ++count;
    }
    const auto deadline = Deadline::after_seconds(20);
    for (const std::uint64_t seen = times_owned; times_owned == seen && !deadline.passed();) std::this_thread::yield();
    is_regained = !deadline.passed();
  }
  stop = true;
  first.join();
  EXPECT_TRUE(is_regained) << "by the first thread, which is alone";
  EXPECT_EQ(count, taken + by_first);
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace shim::base
