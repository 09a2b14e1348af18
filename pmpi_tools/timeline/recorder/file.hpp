// SPDX-License-Identifier: BSD-3-Clause
// Writes the record file of this process.
#pragma once

#include <string>

namespace timeline {

/// Append a line with one write. The first call opens the file in the folder INTERSESSION_TIMELINE
/// and writes the header line; a child made by fork() gets its own file. Without a folder, or after
/// a failed write, print one error and do nothing from then on.
void write_line(const std::string& line);

/// True if a line has been written.
bool has_file();

}  // namespace timeline
