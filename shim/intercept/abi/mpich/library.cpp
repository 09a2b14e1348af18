// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/families.hpp"

namespace shim::intercept::abi {

const Family& kFamily = kMpich;
const char* const kWorldSizeVariable = "PMI_SIZE";
const bool kClockAlwaysRuns = false;
const bool kCallsHandlerOfNullFile = true;
const bool kSpeaksPmi1 = true;

}  // namespace shim::intercept::abi
