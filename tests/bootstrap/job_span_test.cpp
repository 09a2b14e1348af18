// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/job_span.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace shim::bootstrap {
namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

constexpr SizeVariables kLaunchers[] = {{"TEST_JOB_SIZE", "TEST_NODE_SIZE"}, {"OTHER_JOB_SIZE", "OTHER_NODE_SIZE"}};

class JobSpan : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"TEST_JOB_SIZE", "TEST_NODE_SIZE", "OTHER_JOB_SIZE", "OTHER_NODE_SIZE", "SLURM_STEP_NUM_NODES"})
      ::unsetenv(name);
  }
  static bool says(const Variables& variables) {
    clear();
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
    return environment_says_several_nodes(kLaunchers);
  }
};

TEST_F(JobSpan, IsKnownWhereALauncherSaysIt) {
  EXPECT_TRUE(says({{"TEST_JOB_SIZE", "8"}, {"TEST_NODE_SIZE", "2"}}));
  EXPECT_TRUE(says({{"OTHER_JOB_SIZE", "3"}, {"OTHER_NODE_SIZE", "1"}}));
  EXPECT_TRUE(says({{"SLURM_STEP_NUM_NODES", "2"}}));
}

TEST_F(JobSpan, OneNodeIsOneNode) {
  EXPECT_FALSE(says({{"TEST_JOB_SIZE", "4"}, {"TEST_NODE_SIZE", "4"}}));
  EXPECT_FALSE(says({{"OTHER_JOB_SIZE", "2"}, {"OTHER_NODE_SIZE", "2"}}));
  EXPECT_FALSE(says({{"SLURM_STEP_NUM_NODES", "1"}}));
}

TEST_F(JobSpan, NobodySaysSoWithoutALauncherOrWithNonsense) {
  EXPECT_FALSE(says({}));
  EXPECT_FALSE(says({{"TEST_JOB_SIZE", "4"}}));
  EXPECT_FALSE(says({{"TEST_JOB_SIZE", "many"}, {"TEST_NODE_SIZE", "2"}}));
  EXPECT_FALSE(says({{"SLURM_STEP_NUM_NODES", "2 nodes"}}));
}

}  // namespace
}  // namespace shim::bootstrap
