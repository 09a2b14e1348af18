// SPDX-License-Identifier: BSD-3-Clause
// Determines the length of handle arrays in calls on the native library's objects.
#pragma once

#include <mpi.h>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept {

/// Processes that the entries of an array of datatypes refer to (MPI-4.1 §6.8, §8.6.2).
enum class Reach {
  peers,      ///< members of the communicator, or of its remote group
  neighbors,  ///< neighbors in its topology: destinations and sources
};

/// Lengths of the send and receive arrays, from the native communicator.
struct Lengths {
  int send = 0, receive = 0;
};
Lengths lengths_of(MPI_Comm comm, Reach reach);

/// Datatypes of an all-to-all: send and receive. The send types are ignored for MPI_IN_PLACE.
struct TypeArrays {
  const void* sendbuf;
  const MPI_Datatype* sendtypes;
  const MPI_Datatype* recvtypes;
};

/// True if a datatype is ours. The communicator is the native library's, which is queried for the
/// size only if this process has objects of ours.
bool any_ours_among(MPI_Comm comm, Reach reach, const TypeArrays& arrays);
/// True if an info is ours. The array is significant at the root only.
bool any_ours_among(MPI_Comm comm, int root, const MPI_Info* infos, int count);

inline bool ours_among(MPI_Comm comm, Reach reach, const TypeArrays& arrays) {
  return abi::any_handle_made() && any_ours_among(comm, reach, arrays);
}
inline bool ours_among(MPI_Comm comm, int root, const MPI_Info* infos, int count) {
  return abi::any_handle_made() && any_ours_among(comm, root, infos, count);
}

}  // namespace shim::intercept
