// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/opening.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <thread>

#include "shim/transport/loop/loop.hpp"

namespace shim::transport {
namespace {

TEST(Opening, RunsBesideItsCaller) {
  LoopNetwork network;
  std::promise<std::thread::id> opened_by;
  Opening opening([&]() -> Opening::Opened {
    opened_by.set_value(std::this_thread::get_id());
    return network.add();
  });
  EXPECT_FALSE(opening.is_over());
  opening.begin();
  EXPECT_NE(opened_by.get_future().get(), std::this_thread::get_id());
  opening.wait();
  EXPECT_TRUE(opening.is_over());
  auto taken = opening.take();
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)->name(), "loop");
}

TEST(Opening, IsOneHoweverOftenItBegins) {
  int calls = 0;
  Opening opening([&]() -> Opening::Opened {
    ++calls;
    return base::Error(base::ErrorClass::other, "no network");
  });
  for (int i = 0; i < 3; ++i) opening.begin();
  opening.wait();
  opening.begin();
  EXPECT_EQ(opening.take().error().text(), "no network");
  EXPECT_EQ(calls, 1);
}

TEST(Opening, NobodyWaitsForOneThatHasNotBegun) {
  Opening opening([]() -> Opening::Opened { return base::Error(base::ErrorClass::other, "not asked for"); });
  opening.wait();
  EXPECT_FALSE(opening.is_over());
}

/// A child made by fork() that ends in the middle of its parent's opening has no thread to wait for.
TEST(Opening, AForkedChildDoesNotWait) {
  LoopNetwork network;
  std::promise<void> go_on;
  auto opening = std::make_unique<Opening>([&]() -> Opening::Opened {
    go_on.get_future().wait();
    return network.add();
  });
  opening->begin();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    opening->wait();
    opening.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  go_on.set_value();
  opening->wait();
  EXPECT_TRUE(opening->take());
}

TEST(Opening, ItsEndIsWaitedFor) {
  LoopNetwork network;
  bool is_over = false;
  {
    Opening opening([&]() -> Opening::Opened {
      auto transport = network.add();
      is_over = true;
      return transport;
    });
    opening.begin();
  }
  EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace shim::transport
