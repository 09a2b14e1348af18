// SPDX-License-Identifier: BSD-3-Clause
// What starting up and communicating have cost one process so far, as plain counts.
#pragma once

#include "shim/sessions/info.hpp"

namespace shim::sessions {

class Process;

/// Local. Counts of this process since its first session began, as decimal numbers under the keys of docs/counts.md, all of which
/// are there always: what has not happened is 0.
InfoPtr counts_of(Process& process);

}  // namespace shim::sessions
