// SPDX-License-Identifier: BSD-3-Clause
// PmiEnv holds the PMI-1 environment variables, which name the launcher's endpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shim/bootstrap/pmi1/shared_descriptor.hpp"
#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

/// Text of each variable; nothing if it is not set.
struct PmiEnv {
  std::optional<std::string> descriptor;  ///< PMI_FD
  std::optional<std::string> rank, size;  ///< PMI_RANK, PMI_SIZE; set together with PMI_FD
  /// PMI_PORT, PMI_ID: hydra's alternative, in which the process connects itself
  std::optional<std::string> port, id;

  static PmiEnv of_process();
  bool has_launcher() const { return descriptor || port; }
};

/// Rank of this process, and size of the job.
struct Position {
  std::uint32_t rank = 0, size = 1;
};

/// The launcher's descriptor, and the process's rank if the environment contains it; with PMI_PORT
/// the launcher is queried for it.
struct ServerEndpoint {
  SharedDescriptor shared_descriptor;
  std::optional<Position> position;
  std::optional<std::uint32_t> id;  ///< id for that query
  bool is_own = false;              ///< a connection that the native library does not know
};

/// Find the endpoint. With PMI_PORT: the connection that the native library has made already, else
/// a new one. Errors: other (a variable is invalid, or its endpoint is dead; the text names the
/// variable and a remedy).
base::Result<ServerEndpoint> find_endpoint(const PmiEnv& env, double seconds);

/// Set PMI_FD, PMI_RANK and PMI_SIZE, so that the native library uses this connection: a second
/// connection of one process makes mpiexec of hydra 4.0.2 fail an assertion. Call it only on the
/// thread that is about to call MPI_Init, which changes the environment in some libraries anyway:
/// no other thread may read it then.
void export_to_environment(const ServerEndpoint& endpoint);

/// Query the rank over a new or quiet connection. Later input stays in the buffer.
/// @param host_lines receives lines that belong to the host client
base::Result<Position> query_position(int launcher, LineBuffer& buffer, std::uint32_t id,
                                      double seconds, std::vector<std::string>& host_lines);

}  // namespace shim::bootstrap::pmi1
