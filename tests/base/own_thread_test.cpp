// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/own_thread.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <thread>

namespace shim::base {
namespace {

TEST(OwnThread, RunsBesideItsCaller) {
  std::promise<std::thread::id> worker;
  OwnThread<std::string> work([&] {
    worker.set_value(std::this_thread::get_id());
    return std::string("done");
  });
  EXPECT_FALSE(work.is_over());
  work.begin();
  EXPECT_NE(worker.get_future().get(), std::this_thread::get_id());
  work.wait();
  EXPECT_TRUE(work.is_over());
  EXPECT_EQ(work.take(), "done");
}

TEST(OwnThread, WorksOnceHoweverOftenItBegins) {
  int calls = 0;
  OwnThread<int> work([&] { return ++calls; });
  for (int i = 0; i < 3; ++i) work.begin();
  work.wait();
  work.begin();
  EXPECT_EQ(work.take(), 1);
  EXPECT_EQ(calls, 1);
}

TEST(OwnThread, NobodyWaitsForWorkThatHasNotBegun) {
  OwnThread<int> work([] { return 1; });
  work.wait();
  EXPECT_FALSE(work.is_over());
}

/// A child made by fork() that ends in the middle of its parent's work has no thread to wait for.
TEST(OwnThread, AForkedChildDoesNotWait) {
  std::promise<void> go_on;
  auto work = std::make_unique<OwnThread<int>>([&] {
    go_on.get_future().wait();
    return 7;
  });
  work->begin();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    work->wait();
    work.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  go_on.set_value();
  work->wait();
  EXPECT_EQ(work->take(), 7);
}

TEST(OwnThread, ItsEndIsWaitedFor) {
  bool is_over = false;
  {
    OwnThread<int> work([&] {
      is_over = true;
      return 0;
    });
    work.begin();
  }
  EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace shim::base
