// SPDX-License-Identifier: BSD-3-Clause
// Connects reports about blocked calls with the program: name of the MPI function, and the signal
// that requests reports.
#pragma once

#include "shim/p2p/p2p.hpp"

namespace shim::intercept {

/// Return the request counter of the report signal, and the function that finds the name of the
/// MPI function on the stack.
p2p::WaitReports wait_reports();
/// Report all blocked calls whenever this signal arrives; 0: none. A handler that is installed then
/// runs as well.
void report_on_signal(int signal);

}  // namespace shim::intercept
