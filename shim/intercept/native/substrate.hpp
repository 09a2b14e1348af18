// SPDX-License-Identifier: BSD-3-Clause
// Where the symbols of the library below come from. Nothing is looked up before it is needed, and never when we are loaded.
#pragma once

#include "shim/intercept/native/slot.hpp"

namespace shim::intercept {

/// The address of a symbol of the library below: a function ("PMPI_Send") or an object. Looked for
/// after us in link order; else in a library of the substrate's name that is loaded already, RTLD_LOCAL included; else in the
/// file that INTERSESSION_LIBRARY names, which is then loaded. Null where it is nowhere; never an address inside this library.
/// Any thread. dlsym(3), dlopen(3).
void* substrate_symbol(const char* name) noexcept;

/// Is there a library below at all? False in a program that was linked with us alone.
bool has_substrate() noexcept;

/// Fills a slot at its first use: with the library's function, else with `lacking`, which answers for it.
template <class Signature>
void find(Slot<Signature>& slot, const char* symbol, typename Slot<Signature>::Function lacking) noexcept {
  void* found = substrate_symbol(symbol);
  slot.set(found ? reinterpret_cast<typename Slot<Signature>::Function>(found) : lacking);
}

}  // namespace shim::intercept
