// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <thread>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmix/process_lifetime.hpp"

namespace shim::bootstrap::pmix {
namespace {

/// A PMIx that counts calls of PMIx_Init and PMIx_Finalize.
struct PmixInitCount : ::testing::Test {
  static inline int begun = 0, ended = 0;
  PmixLibrary library;
  PmixInitCount() {
    begun = ended = 0;
    library.init = [](pmix_proc_t*, pmix_info_t*, std::size_t) { return ++begun, PMIX_SUCCESS; };
    library.finalize = [](const pmix_info_t*, std::size_t) { return ++ended, PMIX_SUCCESS; };
  }
};

TEST_F(PmixInitCount, HoldsOnceAndFinalizesAtTheEnd) {
  {
    InitCount init_count(library);
    init_count.hold();
    init_count.hold();
    EXPECT_EQ(begun, 1);
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);
}

TEST_F(PmixInitCount, OpenConnectionIsFinalizedOnce) {
  InitCount init_count(library);
  init_count.hold();
  init_count.count_open();
  init_count.count_open();
  EXPECT_TRUE(init_count.count_closed()) << "the last close finalizes the connection";
  init_count.release(0);
  EXPECT_EQ(ended, 2) << "for the hold and for the open connection";
  EXPECT_FALSE(init_count.count_closed());
}

TEST_F(PmixInitCount, ReleaseWaitsForALateInitAndFinalizesIt) {
  InitCount init_count(library);
  init_count.expect_late();
  std::thread late([&] { init_count.complete_late(true); });
  init_count.release(60);
  EXPECT_EQ(ended, 1);
  late.join();
}

TEST_F(PmixInitCount, ReleaseDoesNotWaitForACompletedLateInit) {
  InitCount init_count(library);
  init_count.complete_late(false);
  init_count.expect_late();
  init_count.release(3600);
  EXPECT_EQ(ended, 0);
}

TEST_F(PmixInitCount, WaitForAMissingLateInitIsLimited) {
  InitCount init_count(library);
  init_count.expect_late();
  const auto start = base::now_ns();
  init_count.release(0.02);
  EXPECT_GE(base::now_ns() - start, 20'000'000);
}

}  // namespace
}  // namespace shim::bootstrap::pmix
