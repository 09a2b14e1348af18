// SPDX-License-Identifier: BSD-3-Clause
// Direct is a blocking collective on short data by messages, run inside the call without a task.
// Blocking forms only; they never match non-blocking ones (MPI-4.1 §6.12). The messages with data
// are those of the table's algorithm for short data. So they match even if, in an erroneous
// program, lengths differ and only some members run the collective directly.
#pragma once

#include <cstdint>

#include "shim/coll/inline_collective.hpp"

namespace shim::coll {

/// Collective by messages, run inside the call. After a message of unexpected length it sends empty
/// messages.
class Direct : public InlineCollective {
 public:
  using InlineCollective::InlineCollective;

  /// Send. A message of 0 bytes is not sent, because its receiver knows the length.
  void send(const types::ConstBuffer& data, int dest);
  void receive(const types::Buffer& into, int source);
  /// Start a send that finish() completes. With Buffering::copy, the caller may modify or free the
  /// data at once, because the engine copies data that it cannot send yet.
  enum class Buffering : bool { nothing, copy };
  void post_send(const types::ConstBuffer& data, int dest, Buffering keeps = Buffering::copy);
  /// Start a receive that finish() completes.
  void post_receive(const types::Buffer& into, int source);
  /// Receive a message that is longer than expected, and discard its data, so that its sender does
  /// not wait forever. Records a mismatch.
  void refuse(int source);
  /// Wait for all posted operations and return the result. Call it once.
  base::Status finish();
};

InlineOf<Barrier> barrier_linear_direct, barrier_direct;
InlineOf<Bcast> bcast_direct;
/// gather_tree_direct gathers by a binomial tree: blocks of equal length, at most kMaxDirectBytes,
/// from at most kMaxDirectProcesses members.
InlineGather gather_direct, gather_tree_direct;
InlineScatter scatter_direct;
InlineAllgather allgather_direct;
InlineAlltoall alltoall_direct;
InlineReduce reduce_direct;
/// allreduce_direct: the size must be a power of two.
InlineAllreduce allreduce_direct, scan_direct, exscan_direct;
/// For two members. operands.count: items of all blocks; result may be the start of own.
InlineOf<ReduceScatter> reduce_scatter_direct;

/// Run body(direct) and return a finished task.
template <typename Body>
Task directly(const CollSeq& seq, const Call& call, const Body& body) {
  Direct direct(seq, call);
  try {
    body(direct);
    return Task::over(direct.finish());
  } catch (const std::bad_alloc&) {
    return Task::over(no_memory());
  }
}

}  // namespace shim::coll
