// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/setting_suggestions.hpp"

#include <gmock/gmock.h>

namespace shim::base {

bool operator==(const SettingSuggestion& one, const SettingSuggestion& other) {
  return one.variable == other.variable && one.suggestion == other.suggestion &&
         one.is_old_name == other.is_old_name;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<SettingSuggestion> among(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return suggest_settings(environment.data());
}

TEST(SuggestSettings, NameTheNearestSetting) {
  EXPECT_THAT(
      among({"HOME=/", "INTERSESSION_SPINN=5", "INTERSESSION_EAGER_SMH=1k",
             "INTERSESSION_CREATE_TIME_OUT=1", "INTERSESSION_Log=info", "INTERSESSION_LGO=info",
             "intersession_psets="}),
      ElementsAre(SettingSuggestion{"INTERSESSION_SPINN", "INTERSESSION_SPIN"},
                  SettingSuggestion{"INTERSESSION_EAGER_SMH", "INTERSESSION_EAGER_SHM"},
                  SettingSuggestion{"INTERSESSION_CREATE_TIME_OUT", "INTERSESSION_CREATE_TIMEOUT"},
                  SettingSuggestion{"INTERSESSION_Log", "INTERSESSION_LOG"},
                  SettingSuggestion{"INTERSESSION_LGO", "INTERSESSION_LOG"},
                  SettingSuggestion{"intersession_psets", "INTERSESSION_PSETS"}));
}

TEST(SuggestSettings, MarkOldNamesThatStillWork) {
  EXPECT_THAT(among({"INTERSESSION_LANES=2", "INTERSESSION_LANE=2"}),
              ElementsAre(SettingSuggestion{"INTERSESSION_LANES", "INTERSESSION_VCIS", true}));
}

TEST(SuggestSettings, IgnoreSettingsAndUnrelatedVariables) {
  EXPECT_THAT(among({"INTERSESSION_SPIN=x", "INTERSESSION_LOG=info", "INTERSESSION_ROOT=/opt",
                     "INTERSESSION_DIR=/opt", "INTERSESSION_LIB=/opt", "INTERSESSION_HOME=/opt",
                     "INTERSESSION_MPI=openmpi", "INTERSESSION_VERSION=1",
                     "INTERSESSION_TEST_JOB=a", "INTERSESSION_", "SPINN=1"}),
              IsEmpty());
  EXPECT_THAT(suggest_settings(nullptr), IsEmpty());
}

}  // namespace
}  // namespace shim::base
