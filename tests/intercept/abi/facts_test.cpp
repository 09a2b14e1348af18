// SPDX-License-Identifier: BSD-3-Clause
// Tests the parts of the ABI layer that are equal for every substrate: codes, statuses, ranks.
#include <gtest/gtest.h>

#include <set>

#include "shim/intercept/abi/codes.hpp"
#include "shim/intercept/abi/status.hpp"

namespace shim::intercept::abi {
namespace {

using base::ErrorClass;

TEST(Codes, EveryClassHasADifferentNumber) {
  std::set<int> seen;
  for (int i = 0; i <= static_cast<int>(ErrorClass::errhandler); ++i) {
    auto error_class = static_cast<ErrorClass>(i);
    int code = code_of(error_class);
    EXPECT_TRUE(seen.insert(code).second) << base::name_of(error_class);
    EXPECT_EQ(class_of(code), error_class);
    EXPECT_LT(code, MPI_ERR_LASTCODE) << "higher numbers belong to the user";
  }
}

TEST(Status, HasTheOutcomeAndKeepsTheErrorField) {
  MPI_Status status{};
  status.MPI_ERROR = 77;
  p2p::MessageStatus outcome;
  outcome.source = 3, outcome.tag = 9, outcome.bytes = std::uint64_t{5} << 32,
  outcome.cancelled = true;
  write_status(&status, outcome);
  EXPECT_EQ(status.MPI_SOURCE, 3);
  EXPECT_EQ(status.MPI_TAG, 9);
  EXPECT_EQ(status.MPI_ERROR, 77);
  EXPECT_TRUE(is_cancelled(status));
  EXPECT_EQ(status_bytes(status), std::uint64_t{5} << 32);
  write_status(MPI_STATUS_IGNORE, outcome);
  EXPECT_EQ(status_at(MPI_STATUSES_IGNORE, 5), MPI_STATUS_IGNORE);
}

TEST(Status, EmptyHasTheValuesOfTheStandard) {
  MPI_Status status;
  status.MPI_ERROR = 77;
  write_empty_status(&status);
  EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
  EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(status_bytes(status), 0u);
  EXPECT_FALSE(is_cancelled(status));
}

TEST(Status, CountsRoundTripWithAllBits) {
  MPI_Status status{};
  for (std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{0xffffffff}, (std::uint64_t{1} << 62) + 3}) {
    set_status_bytes(status, bytes);
    set_cancelled(status, true);
    EXPECT_EQ(status_bytes(status), bytes);
    EXPECT_TRUE(is_cancelled(status));
    set_cancelled(status, false);
    EXPECT_EQ(status_bytes(status), bytes);
    EXPECT_FALSE(is_cancelled(status));
  }
}

TEST(Ranks, WildcardsRoundTrip) {
  for (int rank : {0, 1, 1 << 20, MPI_ANY_SOURCE, MPI_PROC_NULL, MPI_UNDEFINED})
    EXPECT_EQ(to_mpi_rank(to_p2p_rank(rank)), rank);
  EXPECT_EQ(to_p2p_rank(MPI_ANY_SOURCE), p2p::kAnySource);
  EXPECT_EQ(to_p2p_rank(MPI_PROC_NULL), p2p::kProcNull);
}

}  // namespace
}  // namespace shim::intercept::abi
