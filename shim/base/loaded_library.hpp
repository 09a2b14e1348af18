// SPDX-License-Identifier: BSD-3-Clause
// LoadedLibrary describes a library that was loaded at run time, for reports.
#pragma once

#include <string>

namespace shim::base {

struct LoadedLibrary {
  std::string file;     ///< with symbolic links resolved
  std::string version;  ///< as the library reports it
};

/// Return the file of a loaded library's function, symbolic links resolved; empty if unknown.
std::string file_of(const void* function);

}  // namespace shim::base
