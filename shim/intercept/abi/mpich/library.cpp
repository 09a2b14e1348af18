// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"

namespace shim::intercept::abi {

const char* const kFamily = "MPICH";
// The name that the members of the ABI initiative have agreed on, and Debian's for MPICH.
const std::array<const char*, 2> kSonames = {"libmpi.so.12", "libmpich.so.12"};
const char* const kWorldSizeVariable = "PMI_SIZE";
const bool kClockAlwaysRuns = false;

}  // namespace shim::intercept::abi
