// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/background_task.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace shim::base {
namespace {

TEST(BackgroundTask, RunsOnAnotherThread) {
  std::promise<std::thread::id> worker;
  BackgroundTask<std::string> work([&] {
    worker.set_value(std::this_thread::get_id());
    return std::string("done");
  });
  EXPECT_FALSE(work.is_over());
  work.begin();
  EXPECT_NE(worker.get_future().get(), std::this_thread::get_id());
  work.wait();
  EXPECT_TRUE(work.is_over());
  EXPECT_EQ(*work.take(), "done");
}

TEST(BackgroundTask, RunsOnceIfStartedRepeatedly) {
  int calls = 0;
  BackgroundTask<int> work([&] { return ++calls; });
  for (int i = 0; i < 3; ++i) work.begin();
  work.wait();
  work.begin();
  EXPECT_EQ(*work.take(), 1);
  EXPECT_EQ(calls, 1);
}

TEST(BackgroundTask, WaitReturnsIfNotStarted) {
  BackgroundTask<int> work([] { return 1; });
  work.wait();
  EXPECT_FALSE(work.is_over());
}

/// fork() copies only the calling thread, so a child has no worker thread to wait for.
TEST(BackgroundTask, ForkedChildDoesNotWait) {
  std::promise<void> go_on;
  auto work = std::make_unique<BackgroundTask<int>>([&] {
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
  EXPECT_EQ(*work->take(), 7);
}

TEST(BackgroundTask, ExceptionIsTheTasksError) {
  BackgroundTask<int> no_memory([]() -> Result<int> { throw std::bad_alloc(); }),
      defect([]() -> Result<int> { throw std::out_of_range("index 7"); });
  for (auto* each : {&no_memory, &defect}) {
    each->begin();
    each->wait();
    ASSERT_TRUE(each->is_over());
  }
  EXPECT_EQ(no_memory.take().error().error_class(), ErrorClass::no_mem);
  const auto failed = defect.take();
  EXPECT_EQ(failed.error().error_class(), ErrorClass::intern);
  EXPECT_EQ(failed.error().text(), "index 7");
}

TEST(BackgroundTask, DestructorWaitsForTheWork) {
  bool is_over = false;
  {
    BackgroundTask<int> work([&] {
      is_over = true;
      return 0;
    });
    work.begin();
  }
  EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace shim::base
