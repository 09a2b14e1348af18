// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"

namespace shim::intercept::abi {

const families::Family& kFamily = families::kMpich;
const char* const kWorldSizeVariable = "PMI_SIZE";
const bool kClockAlwaysRuns = false;
const bool kCallsHandlerOfNullFile = true;
const bool kSpeaksPmi1 = true;

}  // namespace shim::intercept::abi
