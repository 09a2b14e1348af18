// SPDX-License-Identifier: BSD-3-Clause
// Presents Intersession's datatypes as owners of attributes.
#pragma once

#include "shim/intercept/impl/attributes.hpp"

namespace shim::intercept {

AttributeOwner owner_of(MPI_Datatype handle, DatatypeObject& object);

// Attributes as Fortran sees them: numbers (impl/comm/comm_attributes.hpp).
int get_type_number(const char* function, MPI_Datatype type, int keyval, std::intptr_t* value,
                    bool* flag);
int set_type_number(const char* function, MPI_Datatype type, int keyval, std::intptr_t value);

}  // namespace shim::intercept
