// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"

namespace shim::intercept::abi {

const families::Family& kFamily = families::kMpich;
const char* const kWorldSizeVariable = "PMI_SIZE";
const char* const kSpawnedVariable = "PMI_SPAWNED";
const bool kExitBeforeFinalizeIsAnError = false;
const int kTagUpperBound = 0x0fffffff;
const char* const kUniverseSizeVariable = nullptr;
const bool kHasOnlyNumbersOfLauncher = true;
const std::span<const InfoEnvKey> kInfoEnvKeys = {};
const bool kSelfHasPredefinedAttributes = true;
const bool kClockAlwaysRuns = false;
const bool kCallsHandlerOfNullFile = true;
const bool kSpeaksPmi1 = true;

}  // namespace shim::intercept::abi
