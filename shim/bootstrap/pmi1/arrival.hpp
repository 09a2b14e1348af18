// SPDX-License-Identifier: BSD-3-Clause
// Coming into a conversation that another thread may be having with the launcher at this moment.
#pragma once

#include <string>
#include <vector>

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

/// What the guest had asked before us is answered when this returns, unless it waits for other processes: the answers are the
/// result, in order; what came after them is in the buffer. `real`: the launcher's socket, which nobody else reads now.
///
/// The launcher answers a process's requests in order, those that go to mpiexec too, so we ask things whose answers we know: init,
/// which may be said again, and a name that nobody else has, published, looked up and taken back. What comes besides is the guest's.
/// Errors: other (no answer in time, connection closed, not PMI-1).
base::Result<std::vector<std::string>> take_turn(int real, LineBuffer& buffer, double seconds);

/// Writes all of it. Errors: other, naming the launcher.
base::Status write_to_launcher(int real, std::string_view text);
/// The next line from the launcher. Errors: other (closed, too late, too long).
base::Result<std::string> read_from_launcher(int real, LineBuffer& buffer, double seconds);

base::Error launcher_closed();

}  // namespace shim::bootstrap::pmi1
