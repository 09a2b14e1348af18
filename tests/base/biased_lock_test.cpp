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

TEST(BiasedLock, IsBiasedUntilASecondThreadAcquiresIt) {
  BiasedLock lock;
  for (int i = 0; i < 3; ++i) std::lock_guard guard(lock);
  EXPECT_FALSE(lock.is_shared());
  std::thread([&] { std::lock_guard guard(lock); }).join();
  EXPECT_TRUE(lock.is_shared());
  std::lock_guard guard(lock);
}

TEST(BiasedLock, SecondThreadWaitsUntilTheFirstReleases) {
  BiasedLock lock;
  std::atomic<bool> is_second_in{false};
  std::unique_lock guard(lock);
  std::thread second([&] {
    std::lock_guard mine(lock);
    is_second_in = true;
  });
  while (!lock.is_shared()) std::this_thread::yield();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < end)
    std::this_thread::yield();  // time to enter wrongly
  EXPECT_FALSE(is_second_in);
  guard.unlock();
  second.join();
  EXPECT_TRUE(is_second_in);
}

TEST(BiasedLock, TryLockOfTheOwnerKeepsTheBias) {
  BiasedLock lock;
  { std::lock_guard guard(lock); }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  EXPECT_FALSE(lock.is_shared());
}

TEST(BiasedLock, TryLockFailsWhileAnotherThreadHoldsTheLock) {
  BiasedLock lock;
  std::thread([&] { std::lock_guard guard(lock); }).join();
  bool was_free = false, is_free = true;
  std::thread([&] { was_free = lock.try_lock(), lock.unlock(); }).join();
  EXPECT_TRUE(was_free);
  std::lock_guard guard(lock);
  std::thread([&] { is_free = lock.try_lock(); }).join();
  EXPECT_FALSE(is_free);
}

// As MutualExclusion, but all threads use try_lock only.
TEST(BiasedLock, MutualExclusionHoldsWithTryLock) {
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

// The counter is not atomic: if two threads are inside at once, then an increment is lost and
// ThreadSanitizer reports a data race. The test uses many locks because each turns shared only
// once.
TEST(BiasedLock, MutualExclusionHolds) {
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

TEST(BiasedLock, CanBeAcquiredAfterItsOwnerHasExited) {
  BiasedLock lock;
  std::thread([&] { std::lock_guard guard(lock); }).join();
  std::lock_guard guard(lock);
}

TEST(BiasedLock, ReleaseOwnershipMakesTheNextThreadTheOwner) {
  BiasedLock lock;
  std::thread([&] {
    { std::lock_guard guard(lock); }
    lock.release_ownership();
  }).join();
  for (int i = 0; i < 3; ++i) std::lock_guard guard(lock);
  EXPECT_FALSE(lock.is_shared()) << "this thread is the owner now";
  std::thread([&] { lock.release_ownership(); }).join();
  EXPECT_FALSE(lock.is_shared());
  std::thread([&] { std::lock_guard guard(lock); }).join();
  EXPECT_TRUE(lock.is_shared())
      << "release_ownership() of a thread that is not the owner has no effect";
}

// Two other threads acquire the lock meanwhile; either of them may become the next owner.
TEST(BiasedLock, MutualExclusionHoldsDuringReleaseOwnership) {
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
      if (leaves) lock.release_ownership();
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

TEST(BiasedLock, FirstThreadRegainsOwnershipAfterManyAcquisitionsInARow) {
  BiasedLock lock;
  take(lock, 1);
  std::thread([&] { take(lock, BiasedLock::kTimesUntilOwned - 1); }).join();
  EXPECT_TRUE(lock.is_shared());
  take(lock, BiasedLock::kTimesUntilOwned - 1);
  EXPECT_TRUE(lock.is_shared()) << "acquisitions by other threads do not count";
  take(lock, 1);
  EXPECT_FALSE(lock.is_shared());
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  EXPECT_FALSE(lock.is_shared());
  std::thread([&] { take(lock, 2 * BiasedLock::kTimesUntilOwned); }).join();
  EXPECT_TRUE(lock.is_shared()) << "only the first thread can regain ownership";
}

/// Signal handler. Delays the interrupted thread: sometimes between its check that it owns the lock
/// and its entry.
void delay(int) { ::usleep(300); }

// A signal delays the first thread again and again, at any instruction, while the other thread
// takes the lock often enough to become its owner, if the lock ever had another owner than its
// first thread.
TEST(BiasedLock, MutualExclusionHoldsWhileTheLockChangesBetweenOwnedAndShared) {
  constexpr int kTurns = 100;
  struct sigaction action {
  }, before{};
  action.sa_handler = delay;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  BiasedLock lock;
  std::uint64_t count = 0;  // plain: an increment is lost if two threads are inside at once
  std::atomic<bool> stop{false};
  std::uint64_t by_first = 0;
  std::latch start(2);
  std::thread first([&] {
    take(lock, 1);
    start.arrive_and_wait();
    for (; !stop; ++by_first) {
      std::lock_guard guard(lock);
      ++count;
    }
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
    // Only this thread shares the lock: once the first thread owns it again, that lasts until the
    // next turn.
    const auto deadline = Deadline::after_seconds(20);
    while (lock.is_shared() && !deadline.passed()) std::this_thread::yield();
    is_regained = !lock.is_shared();
  }
  stop = true;
  first.join();
  EXPECT_TRUE(is_regained) << "the first thread, now alone, must regain ownership";
  EXPECT_EQ(count, taken + by_first);
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace shim::base
