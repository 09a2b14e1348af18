// SPDX-License-Identifier: BSD-3-Clause
// Counts events of start-up and communication in one process.
#pragma once

#include "shim/sessions/info.hpp"

namespace shim::sessions {

class Process;

/// Return the counts since this process's first session began, as decimal numbers under the keys of
/// docs/user/counts.md. All keys are always present. Local.
InfoPtr counts_of(Process& process);

}  // namespace shim::sessions
