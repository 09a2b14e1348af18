// SPDX-License-Identifier: BSD-3-Clause
// Datatypes that the substrate made, read through its own inquiry functions.
#pragma once

#include "shim/intercept/bodies/arguments.hpp"

namespace shim::intercept {

/// Duplicates and contiguous repetitions of predefined types, in any depth. The substrate must be active. Errors:
/// unsupported_operation (has holes, or several kinds of elements), type (the substrate does not know it).
base::Result<TypeItems> native_type_items(MPI_Datatype datatype);

}  // namespace shim::intercept
