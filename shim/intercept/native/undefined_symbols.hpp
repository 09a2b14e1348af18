// SPDX-License-Identifier: BSD-3-Clause
// Detects functions that the program might still call.
#pragma once

#include <string_view>

namespace shim::intercept {

/// True if the program or a library that it has loaded has an undefined reference to this function
/// (not found: lookups by dlsym(3)). Reads the relocations in memory, elf(5).
bool program_refers_to(std::string_view function);

}  // namespace shim::intercept
