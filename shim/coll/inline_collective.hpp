// SPDX-License-Identifier: BSD-3-Clause
// InlineCollective is a blocking collective on short data by messages, without a task.
//
// Blocking forms only; they never match non-blocking ones (MPI-4.1 §6.12). The messages with data
// are those of the table's task for short data. So they match even if, in an erroneous program,
// lengths differ and only some members run the collective inline. The name does not mean MPI's
// immediate (non-blocking) operations.
#pragma once

#include <cstdint>

#include "shim/coll/taskless_collective.hpp"

namespace shim::coll {

/// Collective by messages, run inside the call. After a message of unexpected length it sends empty
/// messages.
class InlineCollective : public TasklessCollective {
 public:
  using TasklessCollective::TasklessCollective;

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

InlineOf<Barrier> barrier_linear_inline, barrier_inline;
InlineOf<Bcast> bcast_inline;
/// gather_tree_inline gathers by a binomial tree: blocks of equal length, at most kMaxInlineBytes,
/// from at most kMaxInlineProcesses members.
InlineGather gather_inline, gather_tree_inline;
InlineScatter scatter_inline;
InlineAllgather allgather_inline;
InlineAlltoall alltoall_inline;
InlineReduce reduce_inline;
/// allreduce_inline: the size must be a power of two.
InlineAllreduce allreduce_inline, scan_inline, exscan_inline;
/// For two members. operands.count: items of all blocks; result may be the start of own.
InlineOf<ReduceScatter> reduce_scatter_inline;

/// Run body(collective) and return a finished task.
template <typename Body>
Task run_inline_collective(const CollSeq& seq, const Call& call, const Body& body) {
  InlineCollective collective(seq, call);
  try {
    body(collective);
    return Task::over(collective.finish());
  } catch (const std::bad_alloc&) {
    return Task::over(no_memory());
  }
}

}  // namespace shim::coll
