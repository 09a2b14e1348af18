// SPDX-License-Identifier: BSD-3-Clause
// What the launcher has put into the environment, and the way to the launcher that it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shim/bootstrap/pmi1/place.hpp"
#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1 {

/// The variables, as text; nothing where one is not set.
struct Surroundings {
  std::optional<std::string> descriptor;  ///< PMI_FD
  std::optional<std::string> rank, size;  ///< PMI_RANK, PMI_SIZE; they come with PMI_FD
  std::optional<std::string> port, id;    ///< PMI_PORT, PMI_ID; hydra's other way: the process makes the connection itself

  static Surroundings of_process();
  bool name_launcher() const { return descriptor || port; }
};

struct Position {
  std::uint32_t rank = 0, size = 1;
};

/// Where the launcher's descriptor is, and who this process is, where the environment says so; with PMI_PORT the launcher is asked.
struct Way {
  Place place;
  std::optional<Position> position;
  std::optional<std::uint32_t> id;  ///< to ask it by
  bool is_made_here = false;        ///< a connection that the MPI library does not know
};

/// Over PMI_PORT: the connection that the MPI library below has made already, else a new one.
/// Errors: other (a variable is wrong, or what it names is dead; the text says which and what to try).
base::Result<Way> find_way(const Surroundings& surroundings, double seconds);

/// Sets PMI_FD, PMI_RANK and PMI_SIZE, so that the MPI library takes the connection that was made here. mpiexec does not bear a second
/// one of the same process (hydra 4.0.2 ends with an assertion). Only on the thread that is about to call MPI_Init, which is known
/// to change the environment in some libraries: no other thread may be reading it then.
void tell_library(const Way& way);

/// Asks over a new or quiet connection. `strangers`: lines that came between and are not for us; what came after is in the buffer.
base::Result<Position> ask_position(int real, LineBuffer& buffer, std::uint32_t id, double seconds,
                                    std::vector<std::string>& strangers);

}  // namespace shim::bootstrap::pmi1
