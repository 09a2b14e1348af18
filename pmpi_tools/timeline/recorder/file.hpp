// SPDX-License-Identifier: BSD-3-Clause
// The file of this process.
#pragma once

#include <string>

namespace timeline {

/// Appends a whole line, in one piece. The first line opens the file in the folder that INTERSESSION_TIMELINE names, and stands after
/// one about the process; a child made by fork() gets a file of its own. Without a folder, or when writing fails, this
/// says so once and does nothing from then on.
void write_line(const std::string& line);

/// Has anything been written?
bool has_file();

}  // namespace timeline
