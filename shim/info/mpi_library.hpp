// SPDX-License-Identifier: BSD-3-Clause
// Queries the version of an MPI library that is not linked, by loading it in a child process.
#pragma once

#include <string>

#include "shim/base/loaded_library.hpp"
#include "shim/base/result.hpp"

namespace shim::info {

/// Option by which query_in_child() starts this command again; with it the command calls
/// print_library() and exits. Internal: the usage text does not list it.
inline constexpr const char* kQueryOption = "--ask-library";

/// Load the library of this soname or path into this process and query its version, which MPI
/// allows before MPI_Init. Call it in a process that loads no other MPI library: the library stays
/// loaded. The returned file is the one that defines MPI_Get_library_version, which may be a
/// dependency of the library. The version is its first line. Errors: other (the dynamic linker's
/// message, also if the library has no MPI_Get_library_version; or that function failed).
base::Result<base::LoadedLibrary> load_and_query(const std::string& name);

/// Print the result of load_and_query() on standard output, where query_in_child() reads it: file
/// and version, one per line; on failure the first line of the error text, and return false.
bool print_library(const std::string& name);

/// Query a library by load_and_query() in a child process, because one process must not load two
/// MPI libraries. `command`: path of intersession-info, which the child executes. Errors: those of
/// load_and_query() and of run(), which kills the child `seconds` after its start; other (the child
/// printed no report).
base::Result<base::LoadedLibrary> query_in_child(const std::string& command,
                                                 const std::string& name, double seconds);

}  // namespace shim::info
