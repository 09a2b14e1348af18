// SPDX-License-Identifier: BSD-3-Clause
// Attaches the proxy to a connection that the host MPI client may be using.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

struct DrainedRequests {
  std::vector<std::string> for_host;  ///< responses to the host client's requests, in order
  /// response to init, ours or the host client's, if one has arrived
  std::optional<std::string> init_response;
};

/// Wait for the responses to all earlier requests of the host client, except for requests that wait
/// for other processes. Later input stays in the buffer. `launcher`: the launcher's socket, which
/// no other thread reads now.
///
/// The launcher responds to a process's requests in order, including requests that mpiexec handles.
/// So this function sends requests with known responses: it publishes, looks up and unpublishes a
/// unique name. All other responses belong to the host client.
/// @param must_send_init no client has sent init yet, so send it first; Slurm's server never
/// responds to a second one
///
/// Errors: other (no response in time, connection closed, not PMI-1).
base::Result<DrainedRequests> drain_pending_requests(int launcher, LineBuffer& buffer,
                                                     bool must_send_init, double seconds);

/// Write all of the text. Errors: other (names the launcher).
base::Status write_to_launcher(int launcher, std::string_view text);
/// Return the next line from the launcher. Errors: other (closed, timeout, line too long).
base::Result<std::string> read_from_launcher(int launcher, LineBuffer& buffer, double seconds);

base::Error launcher_closed();

}  // namespace shim::bootstrap::pmi1
