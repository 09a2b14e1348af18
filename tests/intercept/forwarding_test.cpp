// SPDX-License-Identifier: BSD-3-Clause
#include "tests/intercept/forwarding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace shim::intercept::testing {
namespace {

using ::testing::ElementsAre;

class Forwards : public ::testing::TestWithParam<Forwarding> {
 protected:
  static void SetUpTestSuite() {
    record_all(active_table);
    current_table.store(&active_table, std::memory_order_release);  // pairs with native()
  }
  void SetUp() override { recorded().clear(); }
};

/// By reference, so that a failure prints the two calls.
void expect_passed_on(const std::pair<Recorded, bool>& outcome) {
  EXPECT_THAT(recorded(), ElementsAre(outcome.first));
  EXPECT_TRUE(outcome.second) << "the value that came back is another";
}

TEST_P(Forwards, EveryArgumentAndNothingElse) { expect_passed_on(GetParam().through_mpi()); }
TEST_P(Forwards, UnderItsProfilingNameToo) { expect_passed_on(GetParam().through_pmpi()); }

INSTANTIATE_TEST_SUITE_P(All, Forwards, ::testing::ValuesIn(forwardings()),
                         [](const auto& row) { return std::string(row.param.function); });

}  // namespace

std::vector<Recorded>& recorded() {
  static std::vector<Recorded> calls;
  return calls;
}

std::byte* area(std::size_t parameter) {
  static const auto areas = std::make_unique<std::byte[]>((kMaxParameters + 1) * kAreaBytes);
  return areas.get() + parameter * kAreaBytes;
}

void PrintTo(const Recorded& call, std::ostream* stream) {
  *stream << call.function << std::hex << "(";
  for (std::uint64_t argument : call.arguments) *stream << " " << argument;
  *stream << " )";
}

void PrintTo(const Forwarding& forwarding, std::ostream* stream) { *stream << "MPI_" << forwarding.function; }

}  // namespace shim::intercept::testing
