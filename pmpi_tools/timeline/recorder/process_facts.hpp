// SPDX-License-Identifier: BSD-3-Clause
// Makes the header line of a file: identity of the process, and readings of its clocks.
#pragma once

#include <string>

namespace timeline {

std::string host_name();

/// Return the header line: version of the format, host, process id, rank and size in the launcher's
/// environment, boot id, program, and a simultaneous reading of CLOCK_MONOTONIC and CLOCK_REALTIME
/// with its error.
std::string describe_process();

}  // namespace timeline
