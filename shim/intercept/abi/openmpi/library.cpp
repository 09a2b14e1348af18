// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"

namespace shim::intercept::abi {

const families::Family& kFamily = families::kOpenMpi;
const char* const kWorldSizeVariable = "OMPI_COMM_WORLD_SIZE";
const char* const kSpawnedVariable = "OMPI_PARENT_PORT";
const bool kExitBeforeFinalizeIsAnError = true;
const int kTagUpperBound = 0x7fffffff;
const char* const kUniverseSizeVariable = "OMPI_UNIVERSE_SIZE";
const bool kSelfHasPredefinedAttributes = false;
const bool kClockAlwaysRuns = true;
const bool kCallsHandlerOfNullFile = false;
const bool kSpeaksPmi1 = false;

}  // namespace shim::intercept::abi
