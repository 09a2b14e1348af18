// SPDX-License-Identifier: BSD-3-Clause
// Reads the references of loaded objects to symbols of other objects, elf(5).
#pragma once

#include <string_view>

namespace shim::intercept {

/// True if the program or a library that it has loaded has an undefined reference to this function
/// (not found: lookups by dlsym(3)). Reads the relocations in memory, elf(5).
bool program_refers_to(std::string_view function);

/// Return the address to which the loader has bound a data symbol that the object with this code
/// refers to. Objects loaded with RTLD_LOCAL may bind one name to different addresses. Null if the
/// object has no undefined reference to the symbol.
const void* address_bound_in(const void* code, std::string_view symbol);

}  // namespace shim::intercept
