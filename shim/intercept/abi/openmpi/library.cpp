// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"

namespace shim::intercept::abi {

const families::Family& kFamily = families::kOpenMpi;
const char* const kWorldSizeVariable = "OMPI_COMM_WORLD_SIZE";
const bool kClockAlwaysRuns = true;
const bool kCallsHandlerOfNullFile = false;
const bool kSpeaksPmi1 = false;

}  // namespace shim::intercept::abi
