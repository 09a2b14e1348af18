// SPDX-License-Identifier: BSD-3-Clause
// All algorithms, one file each in algorithms/, and the table that says when each runs.
//
// They work on bytes (moving data) or on items of a type (combining data); what MPI calls them with, holes in types and
// MPI_IN_PLACE are the affair of the entry functions. All are right for every size, root and length that their needs allow.
#pragma once

#include <span>
#include <string_view>

#include "shim/coll/call.hpp"
#include "shim/coll/coll.hpp"
#include "shim/coll/scratch.hpp"
#include "shim/coll/task.hpp"

namespace shim::coll {

// --- signatures
using Barrier = Task(Call);
using Bcast = Task(Call, Bytes data, int root);
/// own may be result (in place, at the root); result is null elsewhere.
using Reduce = Task(Call, Operands, const void* own, void* result, int root);
/// own may be result.
using Allreduce = Task(Call, Operands, const void* own, void* result);
/// All blocks are as long as own. `all` is null but at the root, where own may lie in its place in it.
using Gather = Task(Call, ConstBytes own, std::byte* all, int root);
/// places: of the root alone.
using Gatherv = Task(Call, ConstBytes own, std::byte* all, Places places, int root);
using Scatter = Task(Call, const std::byte* all, Bytes own, int root);
using Scatterv = Task(Call, const std::byte* all, Places places, Bytes own, int root);
/// Our own block is in its place already.
using Allgather = Task(Call, std::byte* all, std::uint64_t block);
using Allgatherv = Task(Call, std::byte* all, Places places);
using Alltoall = Task(Call, const std::byte* send, std::byte* receive, std::uint64_t block);
/// By rank.
using Alltoallw = Task(Call, std::span<const types::ConstBuffer> send, std::span<const types::Buffer> receive);
/// In place: what is sent to a process is replaced by what comes from it, which is as long.
using AlltoallInPlace = Task(Call, std::span<const types::Buffer> data);
using Exchange = Task(Call, std::span<const Outgoing> out, std::span<const Incoming> in);
/// own may be result. Of exscan, rank 0 leaves result alone.
using Scan = Task(Call, Operands, const void* own, void* result);
/// own: operands.count items, result: counts[rank] of them; result may be the start of own. Operands: of the whole.
using ReduceScatter = Task(Call, Operands, const void* own, void* result, Integers counts);

// --- the algorithms; size is the number of processes, the files say more
Barrier barrier_by_nodes, barrier_dissemination;
Bcast bcast_binomial, bcast_by_nodes, bcast_chain, bcast_linear, bcast_scatter_ring;
Reduce reduce_binomial, reduce_by_nodes, reduce_chain, reduce_rabenseifner;
Allreduce allreduce_by_nodes, allreduce_by_parts, allreduce_recursive_doubling, allreduce_rabenseifner, allreduce_ring;
Gather gather_binomial, gather_by_nodes, gather_linear;
Gatherv gatherv_linear;
Scatter scatter_binomial, scatter_by_nodes, scatter_linear;
Scatterv scatterv_linear;
Allgather allgather_by_nodes, allgather_linear, allgather_recursive_doubling, allgather_bruck, allgather_ring;
Allgatherv allgatherv_linear, allgatherv_bruck, allgatherv_ring;
Alltoall alltoall_bruck, alltoall_by_nodes, alltoall_linear, alltoall_pairwise;
Alltoallw alltoallw_linear;
AlltoallInPlace alltoall_in_place;
Exchange exchange_linear;
Scan scan_chain, exscan_chain, scan_recursive_doubling, exscan_recursive_doubling;
ReduceScatter reduce_scatter_halving, reduce_scatter_pairwise;

/// Broadcast by what the table says, of data of any type.
Task bcast_of_items(Call call, types::Buffer data, int root);

/// Requests that the linear algorithms keep in flight at a time.
inline constexpr int kWindow = 32;

inline Call call_on(const Comm& comm, int tag) {
  return {&comm.context(), &comm.scratch(), comm.rank(), comm.size(), tag, comm.sharing(), comm.nodes()};
}
inline Call call_on(const Turn& turn) { return call_on(*turn.comm, turn.tag); }

// --- the table
/// When an algorithm may run (needs_…: it would be wrong otherwise) and when it is the better one. Everything here is the same
/// on all members of the communicator, so that all choose the same.
struct When {
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = UINT64_MAX;
  int min_size = 1;
  int max_size = INT32_MAX;
  bool needs_commutative = false;
  bool needs_power_of_two = false;
  bool needs_nodes = false;           ///< the communicator is over several, and several members are on some
  bool needs_nodes_in_order = false;  ///< likewise, and the ranks of each follow each other
  bool wants_one_node = false;        ///< over several, an algorithm that knows them does better
  Sharing wants = Sharing::nothing;   ///< the members have this in common, and no more; nothing: whatever they have

  bool is_possible(int size, bool commutative, const Nodes* nodes = nullptr) const {
    if (needs_nodes && nodes == nullptr) return false;
    if (needs_nodes_in_order && (nodes == nullptr || !nodes->are_in_order())) return false;
    return (commutative || !needs_commutative) && ((size & (size - 1)) == 0 || !needs_power_of_two);
  }
  bool is_good(int size, std::uint64_t bytes, Sharing sharing, const Nodes* nodes = nullptr) const {
    return size >= min_size && size <= max_size && bytes >= min_bytes && bytes <= max_bytes && (wants == Sharing::nothing || sharing == wants) &&
           (nodes == nullptr || !wants_one_node);
  }
};

template <typename Function>
struct Row {
  std::string_view name;
  Function* function;
  When when;
};

/// Where most of what goes directly ends; its rooms on the stack are so long.
inline constexpr int kMostProcesses = 16;
inline constexpr std::uint64_t kMostBytes = 256;

/// When a blocking collective on short data goes directly (direct.hpp) instead of by one of the algorithms. bytes as in the table.
/// gatherv, scatterv and alltoallv send the same messages either way, so each process decides by what it knows.
struct DirectWhen {
  When barrier_linear, barrier, bcast, reduce, allreduce, reduce_scatter, gather, gather_tree, gatherv, scatter, scatterv;
  When allgather, allgatherv, alltoall, alltoallv, scan, exscan;
};

/// When what is too long for a note or a sheet of a board goes over its belt. bytes as in the table.
struct BeltWhen {
  When bcast;
  When reduce;    ///< of two members, where the operation commutes
  When exchange;  ///< of two members: what each has for the other; only who gives it decides
};

/// In order of preference; the last row of each is always possible and good.
struct Table {
  std::span<const Row<Barrier>> barrier;              // bytes: none
  std::span<const Row<Bcast>> bcast;                  // bytes: of the data
  std::span<const Row<Reduce>> reduce;                // bytes: of one process's data
  std::span<const Row<Allreduce>> allreduce;          // same
  std::span<const Row<Gather>> gather;                // bytes: of one block
  std::span<const Row<Scatter>> scatter;              // same
  std::span<const Row<Allgather>> allgather;          // bytes: of all blocks together
  std::span<const Row<Allgatherv>> allgatherv;        // same
  std::span<const Row<Alltoall>> alltoall;            // bytes: of one block
  std::span<const Row<ReduceScatter>> reduce_scatter; // bytes: of one process's data
  std::span<const Row<Scan>> scan, exscan;            // same
  DirectWhen direct;
  BeltWhen belt;
};
const Table& table();

template <typename Function>
Function* choose(std::span<const Row<Function>> rows, const Call& call, std::uint64_t bytes, bool commutative = true) {
  for (const Row<Function>& row : rows) {
    if (row.when.is_possible(call.size, commutative, call.nodes) && row.when.is_good(call.size, bytes, call.sharing, call.nodes)) return row.function;
  }
  return rows.back().function;
}

}  // namespace shim::coll
