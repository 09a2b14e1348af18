// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/status.hpp"

#include <gtest/gtest.h>

namespace shim::bootstrap::pmix {
namespace {

TEST(PmixStatus, DataThatIsNotThereYetHasTwoCodes) {
  EXPECT_EQ(meaning_of(PMIX_ERR_NOT_FOUND), Meaning::not_there);
  EXPECT_EQ(meaning_of(-17), Meaning::not_there);  // PMIx 4.0: PMIX_ERR_PROC_ENTRY_NOT_FOUND
  EXPECT_EQ(meaning_of(PMIX_ERR_UNREACH), Meaning::failed);
}

}  // namespace
}  // namespace shim::bootstrap::pmix
