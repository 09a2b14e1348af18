// SPDX-License-Identifier: BSD-3-Clause
// Finds symbols of the native library. Looks up each symbol at its first use, never at load.
#pragma once

#include <string>

#include "shim/base/result.hpp"
#include "shim/intercept/native/atomic_function.hpp"

namespace shim::intercept {

/// Return the address of a native function ("PMPI_Send") or object. Search after this library in
/// link order; else in a loaded library of the substrate's name, RTLD_LOCAL included; else in the
/// file that INTERSESSION_LIBRARY names, which is then loaded. Null if not found; never an address
/// inside this library. Any thread. dlsym(3), dlopen(3).
void* substrate_symbol(const char* name) noexcept;

/// Return the address of a function of the native library or of its Fortran library, which the
/// program may have loaded with RTLD_LOCAL. Null if not found. Any thread.
void* fortran_symbol(const char* name) noexcept;

/// Return the address of a data symbol as the program sees it; null if there is none. Objects that
/// an executable refers to live in the executable (copy relocations), and the substrate uses those
/// copies, too; its library's own definition is then unused.
void* data_symbol(const char* name);

/// Resolve the substrate's predefined handles; required before any object of ours is made. Errors:
/// other (no substrate).
base::Status require_substrate();

/// True if there is a native library; false in a program linked with Intersession alone.
bool has_substrate() noexcept;

/// Return why the file that INTERSESSION_LIBRARY names is not the native library; empty if the
/// variable is not set, or the file is.
std::string reason_against_named_library();

/// Fill a slot at its first use: with the library's function, else with `lacking`.
template <class Signature>
void find(AtomicFunction<Signature>& slot, const char* symbol,
          typename AtomicFunction<Signature>::Function lacking) noexcept {
  void* found = substrate_symbol(symbol);
  slot.set(found ? reinterpret_cast<typename AtomicFunction<Signature>::Function>(found) : lacking);
}

}  // namespace shim::intercept
