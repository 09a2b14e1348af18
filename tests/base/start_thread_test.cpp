// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/start_thread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <string>

namespace shim::base {
namespace {

/// Default size of the stacks of new threads, until the end of the scope.
class StackSize {
 public:
  explicit StackSize(std::size_t bytes) {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t changed;
    ::pthread_getattr_default_np(&changed);
    ::pthread_attr_setstacksize(&changed, bytes);
    ::pthread_setattr_default_np(&changed);
    ::pthread_attr_destroy(&changed);
  }
  ~StackSize() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  StackSize(const StackSize&) = delete;
  StackSize& operator=(const StackSize&) = delete;

 private:
  pthread_attr_t before_;
};

TEST(StartThread, RunsTheFunction) {
  int value = 0;
  start_thread("of a test", [&] { value = 1; }).join();
  EXPECT_EQ(value, 1);
}

TEST(StartThread, ErrorNamesThePurposeAndTheLimits) {
  constexpr std::size_t kMoreThanTheAddressSpace = std::size_t{1} << 60;
  const StackSize size(kMoreThanTheAddressSpace);
  std::string text;
  try {
    start_thread("of a test", [] {}).join();
  } catch (const std::system_error& error) {
    text = error.what();
  }
  EXPECT_THAT(text, ::testing::StartsWith("cannot create the thread of a test (check ulimit -u"));
}

}  // namespace
}  // namespace shim::base
