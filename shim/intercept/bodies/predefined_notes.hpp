// SPDX-License-Identifier: BSD-3-Clause
// What a program has said of predefined datatypes while no library below could keep it: before MPI_Init and after MPI_Finalize,
// or where there are sessions alone (MPI-4.1 §7.7.4, §7.8). While that library is active, it keeps notes of its own.
#pragma once

#include <string>

#include "shim/sessions/attributes.hpp"
#include "shim/types/types.hpp"

namespace shim::intercept {

struct PredefinedNotes {
  std::string name;  ///< the type's own until the program gives another
  sessions::Attributes attributes;
};

/// From any thread; lives as long as the program.
PredefinedNotes& notes_of(const types::Type& predefined);

}  // namespace shim::intercept
