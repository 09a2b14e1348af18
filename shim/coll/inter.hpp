// SPDX-License-Identifier: BSD-3-Clause
// Collectives of intercommunicators that are more than messages between their processes (MPI-4.1 §6.2.2): each group does its part by
// itself, and the leaders, the processes of rank 0, speak for their groups.
#pragma once

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

/// A collective within our own group, and between us and the other group.
struct Sides {
  Call local, remote;
};
inline bool is_inter(const Turn& turn) { return turn.comm->local() != nullptr; }
inline Sides sides_of(const Turn& turn) {
  const Comm& local = *turn.comm->local();
  return {call_on(local, turn.local_tag), call_on(turn)};
}

// `root`: kRoot at the root, p2p::kProcNull at the others of its group, its rank in the other group.
Task inter_barrier(Sides sides);
Task inter_bcast(Sides sides, types::Buffer data, int root);
Task inter_reduce(Sides sides, Operands operands, const void* own, void* result, int root);
Task inter_allreduce(Sides sides, Operands operands, const void* own, void* result);
/// counts: of our own group.
Task inter_reduce_scatter(Sides sides, Operands operands, const void* own, void* result, Integers counts);

}  // namespace shim::coll
