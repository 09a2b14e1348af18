// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <thread>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmix/process_life.hpp"

namespace shim::bootstrap::pmix {
namespace {

/// A PMIx that counts.
struct PmixHeld : ::testing::Test {
  static inline int begun = 0, ended = 0;
  Library library;
  PmixHeld() {
    begun = ended = 0;
    library.init = [](pmix_proc_t*, pmix_info_t*, std::size_t) { return ++begun, PMIX_SUCCESS; };
    library.finalize = [](const pmix_info_t*, std::size_t) { return ++ended, PMIX_SUCCESS; };
  }
};

TEST_F(PmixHeld, ItIsHeldOnceAndUndoneInTheEnd) {
  {
    Held held(library);
    held.hold();
    held.hold();
    EXPECT_EQ(begun, 1);
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);
}

TEST_F(PmixHeld, TheEndOfAnOpenConnectionIsNotRepeated) {
  Held held(library);
  held.hold();
  held.count_open();
  held.count_open();
  EXPECT_TRUE(held.count_closed()) << "it ends by itself";
  held.release(0);
  EXPECT_EQ(ended, 2) << "what is held, and the open connection";
  EXPECT_FALSE(held.count_closed());
}

TEST_F(PmixHeld, AnInitThatIsLateIsWaitedForAndUndone) {
  Held held(library);
  held.expect_late();
  std::thread late([&] { held.come_late(true); });
  held.release(60);
  EXPECT_EQ(ended, 1);
  late.join();
}

TEST_F(PmixHeld, OneThatIsBackBeforeItIsExpectedLeavesNothingToWaitFor) {
  Held held(library);
  held.come_late(false);
  held.expect_late();
  held.release(3600);
  EXPECT_EQ(ended, 0);
}

TEST_F(PmixHeld, OneThatNeverComesIsNotWaitedForLong) {
  Held held(library);
  held.expect_late();
  const auto start = base::now_ns();
  held.release(0.02);
  EXPECT_GE(base::now_ns() - start, 20'000'000);
}

}  // namespace
}  // namespace shim::bootstrap::pmix
