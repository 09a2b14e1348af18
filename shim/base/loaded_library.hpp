// SPDX-License-Identifier: BSD-3-Clause
// Libraries that are found at run time, for reports.
#pragma once

#include <string>

namespace shim::base {

struct LoadedLibrary {
  std::string file;     ///< with links followed
  std::string version;  ///< in its own words
};

/// The file that a function of a loaded library came from, links followed; empty where the loader does not know.
std::string file_of(const void* function);

}  // namespace shim::base
