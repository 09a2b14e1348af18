// SPDX-License-Identifier: BSD-3-Clause
// Finds symbols of the native library. Looks up each symbol at its first use, never at load.
#pragma once

#include <string>

#include "shim/intercept/native/atomic_function.hpp"

namespace shim::intercept {

/// Return the address of a native function ("PMPI_Send") or object. Search after this library in
/// link order; else in a loaded library of the substrate's name, RTLD_LOCAL included; else in the
/// file that INTERSESSION_LIBRARY names, which is then loaded. Null if not found; never an address
/// inside this library. Any thread. dlsym(3), dlopen(3).
void* substrate_symbol(const char* name) noexcept;

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
