// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/fabric_opening.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <thread>

#include "shim/transport/loop/loop.hpp"

namespace shim::sessions {
namespace {

TEST(FabricOpening, RunsBesideItsCaller) {
  transport::LoopNetwork network;
  std::promise<std::thread::id> opened_by;
  FabricOpening opening([&]() -> FabricOpening::Opened {
    opened_by.set_value(std::this_thread::get_id());
    return network.add();
  });
  EXPECT_NE(opened_by.get_future().get(), std::this_thread::get_id());  // without take()
  auto taken = opening.take();
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)->name(), "loop");
}

TEST(FabricOpening, AFailureIsHandedOverOnceAndThenTriedAgain) {
  transport::LoopNetwork network;
  int calls = 0;
  FabricOpening opening([&]() -> FabricOpening::Opened {
    if (++calls == 1) return base::Error(base::ErrorClass::other, "no network");
    return network.add();
  });
  EXPECT_EQ(opening.take().error().text(), "no network");
  EXPECT_TRUE(opening.take());
  EXPECT_EQ(calls, 2);
}

/// A child made by fork() that ends in the middle of its parent's opening has no thread to wait for.
TEST(FabricOpening, AForkedChildDoesNotWait) {
  transport::LoopNetwork network;
  std::promise<void> go_on;
  auto opening = std::make_unique<FabricOpening>([&]() -> FabricOpening::Opened {
    go_on.get_future().wait();
    return network.add();
  });
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    opening.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  go_on.set_value();
  EXPECT_TRUE(opening->take());
}

TEST(FabricOpening, ItsEndIsWaitedFor) {
  transport::LoopNetwork network;
  bool is_over = false;
  {
    FabricOpening opening([&]() -> FabricOpening::Opened {
      auto transport = network.add();
      is_over = true;
      return transport;
    });
  }
  EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace shim::sessions
