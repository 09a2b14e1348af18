// SPDX-License-Identifier: BSD-3-Clause
// Direct is a blocking collective on short data by messages, run inside the call without a task.
// Blocking forms only; they never match non-blocking ones (MPI-4.1 §6.12). The messages with data
// are those of the table's algorithm for short data. So they match even if, in an erroneous
// program, lengths differ and only some members run the collective directly.
#pragma once

#include <cstdint>
#include <type_traits>

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

/// Blocks of one array by rank: of equal length and consecutive, or by counts and displacements.
template <typename Buffer, typename Address>
struct BlocksOf {
  Address* address;
  const types::Type* type;
  const Blocks* blocks = nullptr;
  std::uint64_t each = 0;  ///< items per block if `blocks` is null

  Buffer at(int rank) const {
    using Byte = std::conditional_t<std::is_const_v<Address>, const std::byte, std::byte>;
    const auto r = static_cast<std::size_t>(rank);
    const std::int64_t first = blocks == nullptr ? rank * static_cast<std::int64_t>(each)
                                                 : blocks->displacements[r];
    const std::uint64_t count = blocks == nullptr ? each
                                                  : static_cast<std::uint64_t>(blocks->counts[r]);
    return {static_cast<Byte*>(address) + first * type->extent, count, type};
  }
};
using BlocksOut = BlocksOf<types::ConstBuffer, const void>;
using BlocksIn = BlocksOf<types::Buffer, void>;

/// True if the collective runs directly. Equal on all members if `bytes` is. The rows of DirectWhen
/// have no `wants`, so that the value passed for it has no effect.
inline bool may_run_directly(const CollSeq& seq, const When& when, std::uint64_t bytes) {
  const int size = seq.comm->size();
  return seq.is_blocking && when.is_good(size, bytes, MemorySharing::memory, seq.comm->nodes()) &&
         when.is_possible(size, true);
}

void barrier_linear_direct(Direct& direct);
void barrier_direct(Direct& direct);
void bcast_direct(Direct& direct, const types::Buffer& data, int root);
/// own.type null: in place. `all` is significant at the root alone.
void gather_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all, int root);
/// Gather by a binomial tree: blocks of equal length, at most kMaxDirectBytes, from at most
/// kMaxDirectProcesses members. own.type null: in place.
void gather_tree_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all,
                        int root);
void scatter_direct(Direct& direct, const BlocksOut& all, const types::Buffer& own, int root);
/// own.type null: in place.
void allgather_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all);
void alltoall_direct(Direct& direct, const BlocksOut& out, const BlocksIn& in);
/// own may equal result; result is null except at the root.
void reduce_direct(Direct& direct, const Operands& operands, const void* own, void* result,
                   int root);
/// own may equal result. The size must be a power of two.
void allreduce_direct(Direct& direct, const Operands& operands, const void* own, void* result);
/// For two members. operands.count: items of all blocks; result may be the start of own.
void reduce_scatter_direct(Direct& direct, const Operands& operands, const void* own, void* result,
                           const Integers& counts);
void scan_direct(Direct& direct, const Operands& operands, const void* own, void* result);
void exscan_direct(Direct& direct, const Operands& operands, const void* own, void* result);

/// Run body(direct) and return a finished task.
template <typename Body>
Task directly(const CollSeq& seq, Body body) {
  Direct direct(seq);
  try {
    body(direct);
    return Task::over(direct.finish());
  } catch (const std::bad_alloc&) {
    return Task::over(no_memory());
  }
}

}  // namespace shim::coll
