// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/engine_lock.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace shim::p2p {
namespace {

TEST(EngineLock, EntryWhileThreadSleepsIsOfAnotherThread) {
  EngineLock lock;
  { const Guard guard = lock.enter(); }
  EXPECT_FALSE(lock.has_several_threads());
  {
    std::optional<EngineLock::Asleep> asleep;
    {
      const Guard guard = lock.enter();
      asleep.emplace(lock);
    }
    EXPECT_EQ(lock.sleepers(), 1);
    EXPECT_TRUE(asleep->check([&] {
      const Guard guard = lock.enter();
      return lock.sleepers() == 0;
    }));
    EXPECT_FALSE(lock.has_several_threads()) << "the last check is of the sleeping thread";
    const EngineLock::Scope scope(lock);
    EXPECT_TRUE(lock.has_several_threads());
  }
  EXPECT_EQ(lock.sleepers(), 0);
}

}  // namespace
}  // namespace shim::p2p
