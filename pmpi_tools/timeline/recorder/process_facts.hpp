// SPDX-License-Identifier: BSD-3-Clause
// The first line of a file: who this process is, and how its clock goes with others'.
#pragma once

#include <string>

namespace timeline {

std::string host_name();

/// Version of the format, host, process id, what the launcher's environment says of rank and size, the machine's boot, the program, and
/// one moment on both clocks (CLOCK_MONOTONIC and CLOCK_REALTIME) with the time that reading them took.
std::string describe_process();

}  // namespace timeline
