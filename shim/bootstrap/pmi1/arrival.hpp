// SPDX-License-Identifier: BSD-3-Clause
// Coming into a conversation that another thread may be having with the launcher at this moment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

struct Turn {
  std::vector<std::string> for_guest;   ///< answers to what the guest had asked, in order
  std::optional<std::string> greeting;  ///< the answer to init, ours or the guest's, if one came
};

/// What the guest had asked before us is answered when this returns, unless it waits for other
/// processes; what came after the answers is in the buffer. `real`: the launcher's socket, which
/// nobody else reads now.
///
/// The launcher answers a process's requests in order, those that go to mpiexec too, so we ask
/// things whose answers we know: a name that nobody else has, published, looked up and unpublished.
/// What comes besides is the guest's. must_greet: no client has sent init yet, so it is sent first;
/// Slurm's server never answers a second one.
/// Errors: other (no answer in time, connection closed, not PMI-1).
base::Result<Turn> take_turn(int real, LineBuffer& buffer, bool must_greet, double seconds);

/// Writes all of it. Errors: other, naming the launcher.
base::Status write_to_launcher(int real, std::string_view text);
/// The next line from the launcher. Errors: other (closed, too late, too long).
base::Result<std::string> read_from_launcher(int real, LineBuffer& buffer, double seconds);

base::Error launcher_closed();

}  // namespace shim::bootstrap::pmi1
