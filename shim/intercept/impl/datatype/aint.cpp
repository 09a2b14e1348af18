// SPDX-License-Identifier: BSD-3-Clause
// Implements address arithmetic (MPI-4.1 §5.1.5). Some native libraries define it only as macros,
// but binaries built with others call functions.
#include <cstdint>

#include "shim/intercept/generated/impl.hpp"

namespace shim::intercept::impl {

// Unsigned, because MPI_BOTTOM plus an address may wrap around.
MPI_Aint Aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) +
                               static_cast<std::uintptr_t>(disp));
}

MPI_Aint Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(addr1) -
                               static_cast<std::uintptr_t>(addr2));
}

}  // namespace shim::intercept::impl
