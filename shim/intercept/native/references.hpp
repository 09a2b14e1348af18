// SPDX-License-Identifier: BSD-3-Clause
// What the program might still call.
#pragma once

#include <string_view>

namespace shim::intercept {

/// Does the program, or a library that it has loaded, name this function as one that it takes from elsewhere? (One that looks it
/// up by dlsym(3) does not.) Reads the symbol tables in memory, elf(5); some 0.1 ms.
bool program_refers_to(std::string_view function);

}  // namespace shim::intercept
