// SPDX-License-Identifier: BSD-3-Clause
// Presents Intersession's datatypes as owners of attributes.
#pragma once

#include "shim/intercept/impl/attributes.hpp"

namespace shim::intercept {

AttributeOwner owner_of(MPI_Datatype handle, DatatypeObject& object);

}  // namespace shim::intercept
