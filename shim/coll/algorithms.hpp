// SPDX-License-Identifier: BSD-3-Clause
// Declares all collective algorithms. AlgorithmTable (algorithm_table.hpp) selects among them.
//
// Algorithms work on bytes (data movement) or on items of a type (reductions); entry functions
// (coll_rooted.cpp, coll_all_to_all.cpp, coll_reduce.cpp) handle MPI's arguments, types with holes
// and MPI_IN_PLACE. An algorithm is correct for every size, root and length that the needs_…
// members of its rows (struct When) allow.
#pragma once

#include <span>
#include <type_traits>

#include "shim/coll/call.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/scratch.hpp"
#include "shim/coll/task.hpp"

namespace shim::coll {

class InlineCollective;

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

// --- signatures; `own` is this member's block or operands, `all` the blocks of all members by rank
using Barrier = Task(Call);
using Bcast = Task(Call, Bytes data, int root);
/// own may equal result (in place, at the root); result is null at other members.
using Reduce = Task(Call, Operands, const void* own, void* result, int root);
/// own may equal result.
using Allreduce = Task(Call, Operands, const void* own, void* result);
/// All blocks have the length of own. `all` is null except at the root. The root's own may be the
/// root's block in `all` (in place).
using Gather = Task(Call, ConstBytes own, std::byte* all, int root);
/// block_layout: significant at the root alone.
using Gatherv = Task(Call, ConstBytes own, std::byte* all, BlockLayout block_layout, int root);
using Scatter = Task(Call, const std::byte* all, Bytes own, int root);
using Scatterv = Task(Call, const std::byte* all, BlockLayout block_layout, Bytes own, int root);
/// This member's block of `all` is in its position before the call, as with MPI_IN_PLACE.
using Allgather = Task(Call, std::byte* all, std::uint64_t block);
using Allgatherv = Task(Call, std::byte* all, BlockLayout block_layout);
using Alltoall = Task(Call, const std::byte* send, std::byte* receive, std::uint64_t block);
/// Spans by rank.
using Alltoallw = Task(Call, std::span<const types::ConstBuffer> send,
                       std::span<const types::Buffer> receive);
/// In place: the data received from a process replaces the data sent to it, of equal length.
using AlltoallInPlace = Task(Call, std::span<const types::Buffer> data);
using Exchange = Task(Call, std::span<const OutgoingBlock> out, std::span<const IncomingBlock> in);
/// own may equal result. exscan leaves rank 0's result unchanged.
using Scan = Task(Call, Operands, const void* own, void* result);
/// own: operands.count items (all blocks); result: counts[rank] items. result may be the start of
/// own.
using ReduceScatter = Task(Call, Operands, const void* own, void* result, Integers counts);

// --- signatures of inline algorithms (inline_collective.hpp), which take the arguments of the MPI
// function
/// own.type null: in place. `all` is significant at the root alone.
using InlineGather = void(InlineCollective&, const types::ConstBuffer& own, const BlocksIn& all,
                          int root);
using InlineScatter = void(InlineCollective&, const BlocksOut& all, const types::Buffer& own,
                           int root);
using InlineAllgather = void(InlineCollective&, const types::ConstBuffer& own, const BlocksIn& all);
using InlineAlltoall = void(InlineCollective&, const BlocksOut& out, const BlocksIn& in);
/// own may equal result.
using InlineAllreduce = void(InlineCollective&, const Operands&, const void* own, void* result);
/// result is null except at the root.
using InlineReduce = void(InlineCollective&, const Operands&, const void* own, void* result,
                          int root);

/// The signature of the inline algorithms of a collective, by the signature of its tasks.
template <typename Function>
struct InlineForm;
template <>
struct InlineForm<Barrier> : std::type_identity<void(InlineCollective&)> {};
template <>
struct InlineForm<Bcast>
    : std::type_identity<void(InlineCollective&, const types::Buffer&, int root)> {};
template <>
struct InlineForm<Reduce> : std::type_identity<InlineReduce> {};
template <>
struct InlineForm<Allreduce> : std::type_identity<InlineAllreduce> {};  // also of Scan
template <>
struct InlineForm<Gather> : std::type_identity<InlineGather> {};
template <>
struct InlineForm<Gatherv> : std::type_identity<InlineGather> {};
template <>
struct InlineForm<Scatter> : std::type_identity<InlineScatter> {};
template <>
struct InlineForm<Scatterv> : std::type_identity<InlineScatter> {};
template <>
struct InlineForm<Allgather> : std::type_identity<InlineAllgather> {};
template <>
struct InlineForm<Allgatherv> : std::type_identity<InlineAllgather> {};
template <>
struct InlineForm<Alltoall> : std::type_identity<InlineAlltoall> {};
template <>
struct InlineForm<Alltoallw> : std::type_identity<InlineAlltoall> {};
template <>
struct InlineForm<AlltoallInPlace> : std::type_identity<InlineAlltoall> {};
template <>
struct InlineForm<Exchange> : std::type_identity<void(InlineCollective&)> {};
template <>
struct InlineForm<ReduceScatter>
    : std::type_identity<void(InlineCollective&, const Operands&, const void* own, void* result,
                              const Integers& counts)> {};
template <typename Function>
using InlineOf = typename InlineForm<Function>::type;

/// Limits of most inline collectives; their arrays on the stack have this size.
inline constexpr int kMaxInlineProcesses = 16;
inline constexpr std::uint64_t kMaxInlineBytes = 256;

// --- algorithms; each file's head describes one
Barrier barrier_by_nodes, barrier_dissemination;
Bcast bcast_binomial, bcast_by_nodes, bcast_chain, bcast_linear, bcast_scatter_ring;
Reduce reduce_binomial, reduce_by_nodes, reduce_chain, reduce_rabenseifner;
Allreduce allreduce_by_nodes, allreduce_by_parts, allreduce_recursive_doubling,
    allreduce_rabenseifner, allreduce_ring;
Gather gather_binomial, gather_by_nodes, gather_linear;
Gatherv gatherv_linear;
Scatter scatter_binomial, scatter_by_nodes, scatter_linear;
Scatterv scatterv_linear;
Allgather allgather_by_nodes, allgather_linear, allgather_recursive_doubling, allgather_bruck,
    allgather_ring;
Allgatherv allgatherv_linear, allgatherv_bruck, allgatherv_ring;
Alltoall alltoall_bruck, alltoall_by_nodes, alltoall_linear, alltoall_pairwise;
Alltoallw alltoallw_linear;
AlltoallInPlace alltoall_in_place;
Exchange exchange_linear;
Scan scan_chain, exscan_chain, scan_recursive_doubling, exscan_recursive_doubling;
ReduceScatter reduce_scatter_halving, reduce_scatter_pairwise;

/// Broadcast data of any type by the algorithm that the table selects.
Task bcast_of_items(Call call, types::Buffer data, int root);

/// Most requests that a linear algorithm keeps in flight; exchange_linear alone has no limit.
inline constexpr int kWindow = 32;

inline Call call_on(const Comm& comm, int tag) {
  return {&comm.context(), &comm.scratch(), comm.rank(),  comm.size(), tag,
          comm.sharing(),  comm.nodes(),    &comm.table()};
}
inline Call call_on(const CollSeq& seq) { return call_on(*seq.comm, seq.tag); }

}  // namespace shim::coll
