// SPDX-License-Identifier: BSD-3-Clause
// Datatypes of ours as owners of attributes.
#pragma once

#include "shim/intercept/bodies/attributes.hpp"

namespace shim::intercept {

AttributeOwner owner_of(MPI_Datatype handle, DatatypeObject& object);

}  // namespace shim::intercept
