// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/misspelt.hpp"

#include <gmock/gmock.h>

namespace shim::base {

bool operator==(const Misspelt& one, const Misspelt& other) { return one.given == other.given && one.meant == other.meant; }

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Misspelt> among(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return misspelt_settings(environment.data());
}

TEST(MisspeltSettings, AreNamedWithWhatWasMeant) {
  EXPECT_THAT(among({"HOME=/", "INTERSESSION_SPINN=5", "INTERSESSION_EAGER_SMH=1k", "INTERSESSION_CREATE_TIME_OUT=1", "INTERSESSION_Log=info",
                     "intersession_psets="}),
              ElementsAre(Misspelt{"INTERSESSION_SPINN", "INTERSESSION_SPIN"}, Misspelt{"INTERSESSION_EAGER_SMH", "INTERSESSION_EAGER_SHM"},
                          Misspelt{"INTERSESSION_CREATE_TIME_OUT", "INTERSESSION_CREATE_TIMEOUT"},
                          Misspelt{"INTERSESSION_Log", "INTERSESSION_LOG"}, Misspelt{"intersession_psets", "INTERSESSION_PSETS"}));
}

TEST(MisspeltSettings, SettingsAndVariablesOfASiteAreNone) {
  EXPECT_THAT(among({"INTERSESSION_SPIN=x", "INTERSESSION_LOG=info", "INTERSESSION_ROOT=/opt", "INTERSESSION_DIR=/opt", "INTERSESSION_LIB=/opt",
                     "INTERSESSION_HOME=/opt", "INTERSESSION_MPI=openmpi", "INTERSESSION_VERSION=1", "INTERSESSION_TEST_JOB=a",
                     "INTERSESSION_", "SPINN=1"}),
              IsEmpty());
  EXPECT_THAT(misspelt_settings(nullptr), IsEmpty());
}

}  // namespace
}  // namespace shim::base
