// SPDX-License-Identifier: BSD-3-Clause
// Tests that in a process without objects of ours every call passes exactly its arguments to the
// native library.
#include "tests/intercept/forwarding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace shim::intercept::testing {
namespace {

using ::testing::ElementsAre;

class Forwarding : public ::testing::TestWithParam<EntryPoint> {
 protected:
  static void SetUpTestSuite() {
    record_all(active_table);
    current_table.store(&active_table, std::memory_order_release);  // pairs with native()
  }
  void SetUp() override { recorded().clear(); }
};

void expect_passed_on(const std::pair<Recorded, bool>& outcome) {
  EXPECT_THAT(recorded(), ElementsAre(outcome.first));
  EXPECT_TRUE(outcome.second) << "wrong return value";
}

TEST_P(Forwarding, MpiNamePassesExactlyItsArguments) { expect_passed_on(GetParam().through_mpi()); }
TEST_P(Forwarding, PmpiNamePassesExactlyItsArguments) {
  expect_passed_on(GetParam().through_pmpi());
}

std::vector<EntryPoint> forwarded() {
  std::vector<EntryPoint> found;
  std::ranges::copy_if(entry_points(), std::back_inserter(found), &EntryPoint::is_forwarded);
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, Forwarding, ::testing::ValuesIn(forwarded()),
                         [](const auto& row) { return std::string(row.param.function); });

}  // namespace
}  // namespace shim::intercept::testing
