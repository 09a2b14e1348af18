// SPDX-License-Identifier: BSD-3-Clause
// Reads whole files and directories, through descriptors above 2 (descriptor.hpp), and writes
// files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::base {

/// Return the contents of a regular file. Does not block on a FIFO or device. Errors:
/// system_error()'s; file (a FIFO, device, directory or other file that is not regular).
Result<std::string> read_file(const std::string& path);

/// Write all bytes, in as many calls of write(2) as needed. Return false, with errno, if the system
/// accepts only some of them.
bool write_all(int descriptor, std::span<const std::byte> bytes);

/// Return the names in a directory, without "." and "..", in no order; empty if the directory
/// cannot be opened.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace shim::base
