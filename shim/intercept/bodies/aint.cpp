// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on addresses (MPI-4.1 §5.1.5). Some libraries have it as macros alone; a program built elsewhere calls functions.
#include <cstdint>

#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept::ours {

// Unsigned, because MPI_BOTTOM plus an address may be anywhere and wrapping around is meant.
MPI_Aint Aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(disp));
}

MPI_Aint Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(addr1) - static_cast<std::uintptr_t>(addr2));
}

}  // namespace shim::intercept::ours
