// SPDX-License-Identifier: BSD-3-Clause
// The reserved range of addresses that is ours over Open MPI.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept::abi {
namespace {

/// Runs a check in a fresh process of its own, because the range is reserved once in a process.
class HandleRangeAlone : public testing::Test {
 protected:
  HandleRangeAlone() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
#define EXPECT_ALONE(check) EXPECT_EXIT(_exit((check) ? 0 : 1), testing::ExitedWithCode(0), "")

bool nothing_is_ours() {
  int local = 0;
  return slot_limit() == 0 && !is_ours_bits(0) && !is_ours(&local) && !is_ours_bits(~Bits{0});
}

[[maybe_unused]] bool limit_address_space(rlim_t bytes) {
  rlimit limit{bytes, bytes};
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

[[maybe_unused]] bool reserves_a_sixteenth() {
  constexpr rlim_t kLimit = rlim_t{4} << 30;
  return limit_address_space(kLimit) && reserve_handles() && handle_range.bytes.load() <= kLimit / 16 && slot_limit() >= 1024;
}

[[maybe_unused]] bool refuses() {
  if (!limit_address_space(rlim_t{1} << 20)) return false;  // less than the program has already
  auto reserved = reserve_handles();
  return !reserved && reserved.error().error_class() == base::ErrorClass::no_mem && slot_limit() == 0 &&
         reserved.error().text().find("ulimit -v") != std::string::npos;
}

TEST_F(HandleRangeAlone, NothingIsOursBeforeTheRangeIsReserved) { EXPECT_ALONE(nothing_is_ours()); }
// The sanitizers reserve terabytes of addresses for themselves: a limit ends the process before it gets here.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_F(HandleRangeAlone, TakesASixteenthOfALimitedAddressSpace) { EXPECT_ALONE(reserves_a_sixteenth()); }
TEST_F(HandleRangeAlone, RefusesClearlyWhereThereIsNoRoom) { EXPECT_ALONE(refuses()); }
#endif

TEST(HandleRange, NeighboursOfTheRangeAreNotOurs) {
  ASSERT_TRUE(reserve_handles());
  auto base = handle_range.base.load();
  EXPECT_FALSE(is_ours_bits(base - 1));
  EXPECT_FALSE(is_ours_bits(base + handle_range.bytes.load()));
  EXPECT_FALSE(is_ours_bits(0));
  EXPECT_FALSE(is_ours(&base));
}

TEST(HandleRange, ReservingAgainKeepsTheRange) {
  ASSERT_TRUE(reserve_handles());
  auto base = handle_range.base.load();
  ASSERT_TRUE(reserve_handles());
  EXPECT_EQ(handle_range.base.load(), base);
}

TEST(HandleRange, ALeakIntoOtherCodeFaults) {
  ASSERT_TRUE(reserve_handles());
  GTEST_FLAG_SET(death_test_style, "fast");
  auto* leaked = reinterpret_cast<volatile int*>(encode({Kind::comm, 3, 1}));
  EXPECT_DEATH({ *leaked = 1; }, "");
}

}  // namespace
}  // namespace shim::intercept::abi
