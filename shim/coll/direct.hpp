// SPDX-License-Identifier: BSD-3-Clause
// Collectives on short data among few processes, run to their end where they are called: no task, whose frame and driver cost more
// than a short message. For the blocking forms alone, which meet only each other. Where there is data, the messages are those of the
// table's algorithm for short data, so that members who disagree about the length, where a program is wrong, meet nevertheless.
#pragma once

#include <cstdint>
#include <type_traits>

#include "shim/coll/immediate.hpp"

namespace shim::coll {

/// One such call. After a message of another length than expected, those it sends are empty.
class Direct : public Immediate {
 public:
  using Immediate::Immediate;

  /// A message without bytes is not sent: the other side knows its length, too.
  void send(const types::ConstBuffer& data, int dest);
  void receive(const types::Buffer& into, int source);
  /// Is waited for at the end. The data may be written to, or go, at once, where the engine keeps a copy of what does not leave.
  enum class Keeps : bool { nothing, copy };
  void post_send(const types::ConstBuffer& data, int dest, Keeps keeps = Keeps::copy);
  /// Is waited for at the end.
  void post_receive(const types::Buffer& into, int source);
  /// Takes a message that is more than we are to receive, and nothing of it, so that its sender need not wait: a mismatch.
  void refuse(int source);
  /// Waits for what is posted; the result, once.
  base::Status finish();
};

/// Blocks of one array by rank: of one length, one after the other, or as counts and displacements say.
template <typename Buffer, typename Address>
struct BlocksOf {
  Address* address;
  const types::Type* type;
  const Blocks* blocks = nullptr;
  std::uint64_t each = 0;  ///< items of each where there are no blocks

  Buffer at(int rank) const {
    using Byte = std::conditional_t<std::is_const_v<Address>, const std::byte, std::byte>;
    const auto r = static_cast<std::size_t>(rank);
    const std::int64_t first = blocks == nullptr ? rank * static_cast<std::int64_t>(each) : blocks->displacements[r];
    const std::uint64_t count = blocks == nullptr ? each : static_cast<std::uint64_t>(blocks->counts[r]);
    return {static_cast<Byte*>(address) + first * type->extent, count, type};
  }
};
using BlocksOut = BlocksOf<types::ConstBuffer, const void>;
using BlocksIn = BlocksOf<types::Buffer, void>;

/// Does a collective of this turn go directly? The same on all members where `bytes` is.
inline bool goes_directly(const Turn& turn, const When& when, std::uint64_t bytes) {
  const int size = turn.comm->size();
  return turn.is_blocking && when.is_good(size, bytes, Sharing::memory, turn.comm->nodes()) && when.is_possible(size, true);
}

void barrier_linear_direct(Direct& direct);
void barrier_direct(Direct& direct);
void bcast_direct(Direct& direct, const types::Buffer& data, int root);
/// own.type null: in place. `all` is for the root alone.
void gather_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all, int root);
/// The same, of blocks of one length, none longer than kMostBytes, of no more than kMostProcesses.
void gather_tree_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all, int root);
void scatter_direct(Direct& direct, const BlocksOut& all, const types::Buffer& own, int root);
/// own.type null: in place.
void allgather_direct(Direct& direct, const types::ConstBuffer& own, const BlocksIn& all);
void alltoall_direct(Direct& direct, const BlocksOut& out, const BlocksIn& in);
/// own may be result; result is null elsewhere than at the root.
void reduce_direct(Direct& direct, const Operands& operands, const void* own, void* result, int root);
/// own may be result. Of a power of two.
void allreduce_direct(Direct& direct, const Operands& operands, const void* own, void* result);
/// Of two. Operands: of the whole; result may be the start of own.
void reduce_scatter_direct(Direct& direct, const Operands& operands, const void* own, void* result, const Integers& counts);
void scan_direct(Direct& direct, const Operands& operands, const void* own, void* result);
void exscan_direct(Direct& direct, const Operands& operands, const void* own, void* result);

/// Runs one of these, and answers a task that is over.
template <typename Body>
Task directly(const Turn& turn, Body body) {
  Direct direct(turn);
  try {
    body(direct);
    return Task::over(direct.finish());
  } catch (const std::bad_alloc&) {
    return Task::over(no_memory());
  }
}

}  // namespace shim::coll
