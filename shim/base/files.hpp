// SPDX-License-Identifier: BSD-3-Clause
// Whole files and folders, read through descriptors above 2 (descriptor.hpp).
#pragma once

#include <string>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::base {

/// Return what a plain file holds. Never blocks: a FIFO, a device or a folder is an error.
/// Errors: of the system, with errno as foreign code; file (not a plain file).
Result<std::string> read_file(const std::string& path);

/// Return the names in a folder, without "." and "..", in no particular order; none if it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace shim::base
