// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/environment_interlock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace shim::intercept {
namespace {

TEST(EnvironmentInterlock, IsClosedBetweenCloseAndReopen) {
  EnvironmentInterlock interlock;
  EXPECT_FALSE(interlock.is_closed());
  interlock.wait_until_open();  // returns at once
  interlock.close_for(60);
  EXPECT_TRUE(interlock.is_closed());
  interlock.reopen();
  EXPECT_FALSE(interlock.is_closed());
}

TEST(EnvironmentInterlock, WaiterSeesReopen) {
  EnvironmentInterlock interlock;
  std::atomic<bool> is_reopened{false};
  interlock.close_for(60);
  std::thread waiter([&] {
    interlock.wait_until_open();
    EXPECT_TRUE(is_reopened.load());
  });
  is_reopened.store(true);
  interlock.reopen();
  waiter.join();
}

TEST(EnvironmentInterlock, OpensAfterItsTimeLimit) {
  EnvironmentInterlock interlock;
  const auto begin = std::chrono::steady_clock::now();
  interlock.close_for(0.02);
  interlock.wait_until_open();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  EXPECT_FALSE(interlock.is_closed());
}

}  // namespace
}  // namespace shim::intercept
