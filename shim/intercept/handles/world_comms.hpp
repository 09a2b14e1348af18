// SPDX-License-Identifier: BSD-3-Clause
// WorldComms holds the communicators that serve MPI_COMM_WORLD and MPI_COMM_SELF while Intersession
// serves the world model (INTERSESSION_WORLD=sessions).
#pragma once

#include <mpi.h>

#include <atomic>

#include "shim/intercept/abi/handle.hpp"
#include "shim/intercept/abi/predefined.hpp"

namespace shim::intercept {

/// failed: MPI_Init has returned an error; the program may have returned from it.
enum class ServedWorldState { not_started, starting, failed, started, ended };

/// Handles of Intersession; unset before they are made and after MPI_Finalize. The release stores
/// of the thread that makes them pair with the acquire loads below.
struct WorldComms {
  std::atomic<MPI_Comm> world{}, self{};
  /// Number of processes of mpi://WORLD; 0 before MPI_Init returns. Relaxed: pairs with nothing.
  std::atomic<int> size{0};
  /// Thread level that MPI_Init has provided, MPI_THREAD_MULTIPLE without MPI_Init. Relaxed: pairs
  /// with nothing.
  std::atomic<int> level{MPI_THREAD_MULTIPLE};
  /// The release stores of MPI_Init and MPI_Finalize pair with the acquire loads of the queries.
  std::atomic<ServedWorldState> state{ServedWorldState::not_started};
};
extern constinit WorldComms world_comms;

/// True for MPI_COMM_WORLD and MPI_COMM_SELF.
inline bool is_predefined_comm(MPI_Comm comm) noexcept {
  return comm == MPI_Comm(abi::predefined.comm_world) ||
         comm == MPI_Comm(abi::predefined.comm_self);
}

/// Return the communicator that serves MPI_COMM_WORLD or MPI_COMM_SELF if it is made; any other
/// handle unchanged.
inline MPI_Comm served_comm_if_made(MPI_Comm comm) noexcept {
  if (!is_predefined_comm(comm)) return comm;
  const bool is_world = comm == MPI_Comm(abi::predefined.comm_world);
  const MPI_Comm ours = (is_world ? world_comms.world : world_comms.self)
                            .load(std::memory_order_acquire);
  return abi::is_unset(ours) ? comm : ours;
}

/// Return the handle that the program knows: MPI_COMM_WORLD or MPI_COMM_SELF for the communicators
/// that serve them, any other handle unchanged.
inline MPI_Comm programs_handle(MPI_Comm comm) noexcept {
  if (abi::is_unset(comm)) return comm;
  if (comm == world_comms.world.load(std::memory_order_acquire)) return abi::predefined.comm_world;
  if (comm == world_comms.self.load(std::memory_order_acquire)) return abi::predefined.comm_self;
  return comm;
}

}  // namespace shim::intercept
