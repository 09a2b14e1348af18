// SPDX-License-Identifier: BSD-3-Clause
// Declares all collective algorithms, and the table that selects among them.
//
// Algorithms work on bytes (data movement) or on items of a type (reductions); entry functions
// (coll_rooted.cpp, coll_all_to_all.cpp, coll_reduce.cpp) handle MPI's arguments, types with holes
// and MPI_IN_PLACE. An algorithm is correct for every size, root and length that the needs_…
// members of its rows (struct When) allow.
#pragma once

#include <span>
#include <string_view>

#include "shim/coll/call.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/scratch.hpp"
#include "shim/coll/task.hpp"

namespace shim::coll {

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
  return {&comm.context(), &comm.scratch(), comm.rank(), comm.size(), tag,
          comm.sharing(),  comm.nodes()};
}
inline Call call_on(const CollSeq& seq) { return call_on(*seq.comm, seq.tag); }

// --- the table
/// When an algorithm may run (needs_…: it would be incorrect otherwise) and when it is the fastest.
/// All members evaluate equal values, so that all select the same algorithm.
struct When {
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = UINT64_MAX;
  int min_size = 1;
  int max_size = INT32_MAX;
  bool needs_commutative = false;
  bool needs_power_of_two = false;
  bool needs_nodes = false;  ///< the communicator has several nodes, some with several members
  bool needs_nodes_in_order = false;  ///< needs_nodes, and the ranks of each node are consecutive
  bool wants_one_node = false;        ///< not good if node-aware algorithms have a benefit
  MemorySharing wants = MemorySharing::nothing;  ///< members must share exactly this; nothing: any

  bool is_possible(int size, bool commutative, const Nodes* nodes = nullptr) const {
    if (needs_nodes && nodes == nullptr) return false;
    if (needs_nodes_in_order && (nodes == nullptr || !nodes->are_in_order())) return false;
    return (commutative || !needs_commutative) && ((size & (size - 1)) == 0 || !needs_power_of_two);
  }
  bool is_good(int size, std::uint64_t bytes, MemorySharing sharing,
               const Nodes* nodes = nullptr) const {
    return size >= min_size && size <= max_size && bytes >= min_bytes && bytes <= max_bytes &&
           (wants == MemorySharing::nothing || sharing == wants) &&
           (nodes == nullptr || !wants_one_node);
  }
};

template <typename Function>
struct AlgorithmRow {
  std::string_view name;
  Function* function;
  When when;
};

/// Limits of most direct collectives; their arrays on the stack have this size.
inline constexpr int kMaxDirectProcesses = 16;
inline constexpr std::uint64_t kMaxDirectBytes = 256;

/// When a blocking collective on short data runs directly (direct.hpp), not as a task. Bytes as in
/// Table. gatherv, scatterv and alltoallv send the same messages directly and as a task, so that
/// each process may decide by its own lengths.
struct DirectWhen {
  When barrier_linear, barrier, bcast, reduce, allreduce, reduce_scatter, gather, gather_tree,
      gatherv, scatter, scatterv;
  When allgather, allgatherv, alltoall, alltoallv, scan, exscan;
};

/// When data too long for an inline slot or medium buffer uses a broadcast ring. Bytes as in Table.
struct PipelineWhen {
  When bcast;
  When reduce;    ///< of two members, with a commutative operation
  When exchange;  ///< of two members; bytes: of the data sent; only the sender evaluates it
};

/// Rows in order of preference; the last row of each collective is always possible and good.
struct AlgorithmTable {
  std::span<const AlgorithmRow<Barrier>> barrier;               // bytes: none
  std::span<const AlgorithmRow<Bcast>> bcast;                   // bytes: of the data
  std::span<const AlgorithmRow<Reduce>> reduce;                 // bytes: of one process's data
  std::span<const AlgorithmRow<Allreduce>> allreduce;           // bytes: of one process's data
  std::span<const AlgorithmRow<Gather>> gather;                 // bytes: of one block
  std::span<const AlgorithmRow<Scatter>> scatter;               // bytes: of one block
  std::span<const AlgorithmRow<Allgather>> allgather;           // bytes: of all blocks together
  std::span<const AlgorithmRow<Allgatherv>> allgatherv;         // bytes: of all blocks together
  std::span<const AlgorithmRow<Alltoall>> alltoall;             // bytes: of one block
  std::span<const AlgorithmRow<ReduceScatter>> reduce_scatter;  // bytes: of one process's data
  std::span<const AlgorithmRow<Scan>> scan, exscan;             // bytes: of one process's data
  DirectWhen direct;
  PipelineWhen pipeline;
};
const AlgorithmTable& table();

template <typename Function>
Function* choose(std::span<const AlgorithmRow<Function>> rows, const Call& call,
                 std::uint64_t bytes, bool commutative = true) {
  for (const AlgorithmRow<Function>& row : rows) {
    if (row.when.is_possible(call.size, commutative, call.nodes) &&
        row.when.is_good(call.size, bytes, call.sharing, call.nodes))
      return row.function;
  }
  return rows.back().function;
}

}  // namespace shim::coll
