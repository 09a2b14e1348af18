// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"

namespace shim::intercept::abi {
namespace {

constexpr InfoEnvKey kInfoEnvRows[] = {
    {"command", InfoEnvValue::command, "OMPI_COMMAND"},
    {"argv", InfoEnvValue::arguments, "OMPI_ARGV"},
    {"maxprocs", InfoEnvValue::processes, "OMPI_MCA_orte_ess_num_procs"},
    {"soft", InfoEnvValue::processes, "OMPI_MCA_orte_ess_num_procs"},
    {"host", InfoEnvValue::host},
    {"arch", InfoEnvValue::machine},
    {"wdir", InfoEnvValue::launcher, "OMPI_MCA_initial_wdir"},
    {"thread_level", InfoEnvValue::thread_level},
    {"ompi_num_apps", InfoEnvValue::launcher, "OMPI_NUM_APP_CTX"},
    {"ompi_first_rank", InfoEnvValue::launcher, "OMPI_FIRST_RANKS"},
    {"ompi_np", InfoEnvValue::processes, "OMPI_APP_CTX_NUM_PROCS"},
    {"ompi_positioned_file_dir", InfoEnvValue::launcher, "OMPI_FILE_LOCATION"},
};

}  // namespace

const families::Family& kFamily = families::kOpenMpi;
const char* const kWorldSizeVariable = "OMPI_COMM_WORLD_SIZE";
const char* const kSpawnedVariable = "OMPI_PARENT_PORT";
const bool kExitBeforeFinalizeIsAnError = true;
const int kTagUpperBound = 0x7fffffff;
const char* const kUniverseSizeVariable = "OMPI_UNIVERSE_SIZE";
const bool kHasOnlyNumbersOfLauncher = false;
const std::span<const InfoEnvKey> kInfoEnvKeys = kInfoEnvRows;
const bool kSelfHasPredefinedAttributes = false;
const bool kClockAlwaysRuns = true;
const bool kCallsHandlerOfNullFile = false;
const bool kSpeaksPmi1 = false;

}  // namespace shim::intercept::abi
