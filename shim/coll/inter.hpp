// SPDX-License-Identifier: BSD-3-Clause
// Barrier, broadcast and reductions on intercommunicators (MPI-4.1 §6.2.2).
// Each group runs its part locally; the leaders, which are the processes with rank 0 of each group,
// exchange data between the groups. All other collectives on intercommunicators are one `exchange`.
#pragma once

#include "shim/coll/algorithm_table.hpp"

namespace shim::coll {

/// Calls within the local group, and between the local and the remote group.
struct Sides {
  Call local, remote;
};
inline bool is_inter(const CollSeq& seq) { return seq.comm->local() != nullptr; }
inline Sides sides_of(const CollSeq& seq) {
  const Comm& local = *seq.comm->local();
  return {call_on(local, seq.local_tag), call_on(seq)};
}

// `root`: kRoot at the root, p2p::kProcNull at other members of its group, the root's rank in the
// other group.
Task inter_barrier(Sides sides);
Task inter_bcast(Sides sides, types::Buffer data, int root);
Task inter_reduce(Sides sides, Operands operands, const void* own, void* result, int root);
Task inter_allreduce(Sides sides, Operands operands, const void* own, void* result);
/// counts: the local group's.
Task inter_reduce_scatter(Sides sides, Operands operands, const void* own, void* result,
                          Integers counts);

}  // namespace shim::coll
