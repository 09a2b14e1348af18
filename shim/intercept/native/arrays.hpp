// SPDX-License-Identifier: BSD-3-Clause
// Arrays of handles in calls on objects of the library below: how far they reach is not said in the call itself.
#pragma once

#include <mpi.h>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept {

/// Whom the entries of an array of datatypes are for (MPI-4.1 §6.8, §8.6.2).
enum class Reach {
  peers,      ///< the members of the communicator, of its remote group if it has one
  neighbors,  ///< those of its topology: where data goes to, and where it comes from
};

/// How many entries such arrays have, by what the library below says of the communicator.
struct Lengths {
  int send = 0, receive = 0;
};
Lengths lengths_of(MPI_Comm comm, Reach reach);

/// The datatypes of an all-to-all: what is sent from a buffer, and what is received. Those of MPI_IN_PLACE are not looked at.
struct TypeArrays {
  const void* sendbuf;
  const MPI_Datatype* sendtypes;
  const MPI_Datatype* recvtypes;
};

/// Is one of them ours? The communicator is the library's; it is asked for its size there, and only if there is anything of
/// ours in this process at all.
bool any_ours_among(MPI_Comm comm, Reach reach, const TypeArrays& arrays);
/// Is one of the infos ours? The array means something at the root alone.
bool any_ours_among(MPI_Comm comm, int root, const MPI_Info* infos, int count);

inline bool ours_among(MPI_Comm comm, Reach reach, const TypeArrays& arrays) {
  return abi::any_handle_made() && any_ours_among(comm, reach, arrays);
}
inline bool ours_among(MPI_Comm comm, int root, const MPI_Info* infos, int count) {
  return abi::any_handle_made() && any_ours_among(comm, root, infos, count);
}

}  // namespace shim::intercept
