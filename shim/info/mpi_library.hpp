// SPDX-License-Identifier: BSD-3-Clause
// Which MPI library a program would load, without becoming a program of it.
#pragma once

#include <string>

#include "shim/base/loaded_library.hpp"
#include "shim/base/result.hpp"

namespace shim::info {

/// The option of the command that makes it answer as `answer_about` and end.
inline constexpr const char* kAskOption = "--ask-library";

/// Loads the library of this name or path and asks it for its version, which is allowed before MPI_Init. For a process that does
/// nothing else. Errors: other (the loader's words, or that it is no MPI library).
base::Result<base::LoadedLibrary> load_and_ask(const std::string& name);

/// What `ask_apart` reads: file and version, a line each, or the reason on standard output and false.
bool answer_about(const std::string& name);

/// The same in a process of its own, because two MPI libraries must never meet in one. `command`: this command's file. Errors:
/// other, also where that process ends by a signal or says nothing for so many seconds.
base::Result<base::LoadedLibrary> ask_apart(const std::string& command, const std::string& name, double seconds);

}  // namespace shim::info
