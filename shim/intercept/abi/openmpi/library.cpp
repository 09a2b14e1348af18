// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/library.hpp"

namespace shim::intercept::abi {

const char* const kFamily = "Open MPI";
// Open MPI 4 and 5 are loaded under one name.
const std::array<const char*, 2> kSonames = {"libmpi.so.40", "libmpi.so.40"};
const char* const kWorldSizeVariable = "OMPI_COMM_WORLD_SIZE";
const bool kClockAlwaysRuns = true;

}  // namespace shim::intercept::abi
