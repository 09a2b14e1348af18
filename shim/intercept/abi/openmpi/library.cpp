// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/families.hpp"

namespace shim::intercept::abi {

const Family& kFamily = kOpenMpi;
const char* const kWorldSizeVariable = "OMPI_COMM_WORLD_SIZE";
const bool kClockAlwaysRuns = true;
const bool kCallsHandlerOfNullFile = false;
const bool kSpeaksPmi1 = false;

}  // namespace shim::intercept::abi
