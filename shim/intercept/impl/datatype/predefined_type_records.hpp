// SPDX-License-Identifier: BSD-3-Clause
// PredefinedTypeRecord holds the name and attributes that the program sets on predefined datatypes
// without native library. Used before MPI_Init, after MPI_Finalize, and in programs with sessions
// only (MPI-4.1 §7.7.4, §7.8); an active native library keeps its own.
#pragma once

#include <string>

#include "shim/sessions/attributes.hpp"
#include "shim/types/types.hpp"

namespace shim::intercept {

struct PredefinedTypeRecord {
  std::string name;  ///< MPI's name until the program sets another
  sessions::Attributes attributes;
};

/// Return the record, which is never destroyed. Any thread.
PredefinedTypeRecord& record_of(const types::Type& predefined);

}  // namespace shim::intercept
