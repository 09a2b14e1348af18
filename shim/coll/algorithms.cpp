// SPDX-License-Identifier: BSD-3-Clause
// The rows of the algorithm table that are compiled in. A tuning file puts rows of one class of
// machines in front of them (tuning.hpp).
//
// The rows for processes of one node are the common part of what bench/collectives/algorithms has
// measured (docs/decisions/0043, shim/coll/coll-tuning), for up to 16 processes; more readers would
// contend for the kernel's lock on the memory that they read (Chakraborty et al., "Contention-Aware
// Kernel-Assisted MPI Collectives", 2017). "Read by all": the members may read each other's memory.
// "Copied": they may not.
//
// A row of a task is named after its function, without the operation; text after a comma explains
// the row.
#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/inline_collective.hpp"

namespace shim::coll {
namespace {

constexpr std::uint64_t kKi = 1024, kAll = UINT64_MAX;

// several nodes, up to a length: short data is sent between two nodes once, not once per process
constexpr When over_nodes(std::uint64_t max_bytes) {
  return {.max_bytes = max_bytes, .needs_nodes = true};
}
constexpr When over_nodes_in_order(std::uint64_t max_bytes) {
  return {.max_bytes = max_bytes, .needs_nodes_in_order = true};
}
constexpr When over_nodes_if_it_commutes(std::uint64_t max_bytes) {
  return {.max_bytes = max_bytes, .needs_commutative = true, .needs_nodes = true};
}

constexpr When on_one_node(When when) {
  when.wants_one_node = true;
  return when;
}

// short data of inline collectives, and of their tasks
constexpr When kShort{.max_bytes = kMaxInlineBytes, .max_size = kMaxInlineProcesses},
    kShortOfFew{.max_bytes = kMaxInlineBytes, .max_size = 8},
    kShortOfMore{.max_bytes = kMaxInlineBytes, .min_size = 9, .max_size = kMaxInlineProcesses},
    kShortOfTwo{.max_bytes = kMaxInlineBytes, .min_size = 2, .max_size = 2},
    kShortOfAll{.max_bytes = 1 * kKi, .max_size = kMaxInlineProcesses};

// data that fits an inline slot or medium buffer of the segment, and longer data of two members
constexpr When kMedium{.max_bytes = node::kMediumBufferBytes},
    kMediumOfTwo{.max_bytes = node::kMediumBufferBytes, .max_size = 2}, kLongOfTwo{.max_size = 2},
    kParts{.min_size = 3};

// Two members that may read each other's memory exchange long data by messages, which copy once; in
// place a message would need a copy of the data that it sends (docs/decisions/0041).
constexpr When kReadOfTwo{.min_bytes = 32 * kKi, .max_size = 2, .wants = MemorySharing::memory};

// Each row is one line.
// clang-format off
constexpr AlgorithmRow<Barrier> kBarrier[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"inline linear", barrier_linear_inline, on_one_node(kShortOfFew)},
    {"inline dissemination", barrier_inline, on_one_node(kShort)},
    {"by nodes", barrier_by_nodes, over_nodes(0)},
    {"dissemination", barrier_dissemination, {}},
};
// a chain needs the least work, which matters if processes outnumber cores; with many processes its
// length costs more
constexpr AlgorithmRow<Bcast> kBcast[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"broadcast ring", SegmentPath::broadcast_ring, {}},
    {"inline binomial", bcast_inline, on_one_node(kShort)},
    {"by nodes", bcast_by_nodes, over_nodes(kAll)},
    // all read the root's memory at the same time; a copy in steps lets all copy at the same time
    {"linear, read by all", bcast_linear, {.min_bytes = 8 * kKi, .min_size = 3, .max_size = 16, .wants = MemorySharing::memory}},
    {"chain, copied", bcast_chain, {.min_bytes = 512 * kKi, .min_size = 3, .max_size = 16, .wants = MemorySharing::segment}},
    {"linear, copied", bcast_linear, {.min_bytes = 8 * kKi, .min_size = 4, .max_size = 16, .wants = MemorySharing::segment}},
    {"chain", bcast_chain, {.min_bytes = 256 * kKi, .min_size = 3, .max_size = 16}},
    {"scatter_ring", bcast_scatter_ring, {.min_bytes = 256 * kKi, .min_size = 4}},
    {"binomial", bcast_binomial, {}},
};
constexpr AlgorithmRow<Reduce> kReduce[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"broadcast ring", SegmentPath::broadcast_ring, {.max_size = 2, .needs_commutative = true}},
    {"inline binomial", reduce_inline, on_one_node(kShort)},
    {"by nodes", reduce_by_nodes, over_nodes_if_it_commutes(kAll)},
    {"by nodes, in order", reduce_by_nodes, over_nodes_in_order(kAll)},
    // within a node, a tree has the fewest waits; a chain does the least work for long data
    {"chain, of two", reduce_chain, {.min_bytes = 8 * kKi, .min_size = 2, .max_size = 2, .needs_commutative = true, .wants_shared_memory = true}},
    {"chain, of three", reduce_chain, {.min_bytes = 512 * kKi, .min_size = 3, .max_size = 3, .needs_commutative = true, .wants = MemorySharing::memory}},
    {"chain, long", reduce_chain, {.min_bytes = 2048 * kKi, .min_size = 3, .max_size = 16, .needs_commutative = true, .wants_shared_memory = true}},
    {"rabenseifner, within a node", reduce_rabenseifner, {.min_bytes = 8 * kKi, .max_bytes = 32 * kKi - 1, .min_size = 4, .max_size = 12, .wants_shared_memory = true}},
    {"binomial, within a node", reduce_binomial, {.max_bytes = 2048 * kKi - 1, .max_size = 16, .wants_shared_memory = true}},
    // few steps, because each has a wait; if processes outnumber cores, a chain waits too often
    {"binomial, of few", reduce_binomial, {.max_bytes = 1024 * kKi, .max_size = 8}},
    {"chain", reduce_chain, {.min_bytes = 128 * kKi, .max_size = 16, .needs_commutative = true}},
    {"rabenseifner", reduce_rabenseifner, {.min_bytes = 128 * kKi, .min_size = 4}},
    {"binomial", reduce_binomial, {}},
};
constexpr AlgorithmRow<Allreduce> kAllreduce[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"inline recursive_doubling", allreduce_inline, on_one_node({.max_bytes = kMaxInlineBytes, .max_size = kMaxInlineProcesses, .needs_power_of_two = true})},
    {"by nodes", allreduce_by_nodes, over_nodes_if_it_commutes(kAll)},
    {"by nodes, in order", allreduce_by_nodes, over_nodes_in_order(kAll)},
    // within a node, each member combines one part of all data; with more processes, halving has
    // shorter messages, if it folds nothing
    {"rabenseifner, of 8, read by all", allreduce_rabenseifner, {.min_bytes = 8 * kKi, .max_bytes = 32 * kKi - 1, .min_size = 7, .max_size = 16, .needs_power_of_two = true, .wants = MemorySharing::memory}},
    {"rabenseifner, of 16, read by all", allreduce_rabenseifner, {.min_bytes = 128 * kKi, .max_bytes = 512 * kKi - 1, .min_size = 13, .max_size = 16, .needs_power_of_two = true, .wants = MemorySharing::memory}},
    {"rabenseifner, of 8, copied", allreduce_rabenseifner, {.min_bytes = 8 * kKi, .max_bytes = 128 * kKi - 1, .min_size = 7, .max_size = 12, .needs_power_of_two = true, .wants = MemorySharing::segment}},
    {"rabenseifner, of 16, copied", allreduce_rabenseifner, {.min_bytes = 8 * kKi, .max_bytes = 512 * kKi - 1, .min_size = 13, .max_size = 16, .needs_power_of_two = true, .wants = MemorySharing::segment}},
    {"recursive_doubling, copied", allreduce_recursive_doubling, {.min_bytes = 8 * kKi, .max_bytes = 128 * kKi - 1, .min_size = 13, .max_size = 16, .wants = MemorySharing::segment}},
    {"by parts", allreduce_by_parts, {.min_bytes = 8 * kKi, .min_size = 2, .max_size = 16, .wants_shared_memory = true}},
    // on a power of two Rabenseifner's algorithm folds nothing, and is faster than the ring
    {"rabenseifner", allreduce_rabenseifner, {.min_bytes = 16 * kKi, .min_size = 4, .needs_power_of_two = true}},
    {"ring", allreduce_ring, {.min_bytes = 64 * kKi, .min_size = 3, .needs_commutative = true}},
    {"rabenseifner, folded", allreduce_rabenseifner, {.min_bytes = 64 * kKi, .min_size = 4}},
    {"recursive_doubling", allreduce_recursive_doubling, {}},
};
constexpr AlgorithmRow<Gather> kGather[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"inline linear", gather_inline, on_one_node(kShortOfFew)},
    {"inline binomial", gather_tree_inline, on_one_node(kShortOfMore)},
    {"by nodes", gather_by_nodes, over_nodes_in_order(8 * kKi)},
    {"linear, within a node", gather_linear, {.min_bytes = 512, .min_size = 4, .max_size = 16, .wants_shared_memory = true}},
    {"linear, short", gather_linear, kShortOfFew},
    {"linear", gather_linear, {.min_bytes = 8 * kKi}},
    {"binomial", gather_binomial, {}},
};
constexpr AlgorithmRow<Gatherv> kGatherv[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"inline linear", gather_inline, kShort},
    {"linear", gatherv_linear, {}},
};
constexpr AlgorithmRow<Scatter> kScatter[] = {
    {"segment", SegmentPath::medium_buffer, kMediumOfTwo},
    {"inline linear", scatter_inline, on_one_node(kShort)},
    {"by nodes", scatter_by_nodes, over_nodes_in_order(8 * kKi)},
    {"linear, within a node", scatter_linear, {.min_bytes = 512, .min_size = 4, .max_size = 16, .wants_shared_memory = true}},
    {"linear, short", scatter_linear, kShort},
    {"linear", scatter_linear, {.min_bytes = 8 * kKi}},
    {"binomial", scatter_binomial, {}},
};
constexpr AlgorithmRow<Scatterv> kScatterv[] = {
    {"segment", SegmentPath::medium_buffer, kMediumOfTwo},
    {"inline linear", scatter_inline, kShort},
    {"linear", scatterv_linear, {}},
};
constexpr AlgorithmRow<Allgather> kAllgather[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"messages", SegmentPath::messages, kReadOfTwo},
    {"broadcast rings", SegmentPath::broadcast_ring, kLongOfTwo},
    {"inline linear", allgather_inline, on_one_node(kShortOfAll)},
    {"by nodes", allgather_by_nodes, over_nodes_in_order(1024 * kKi)},
    // within a node, messages to all wait once
    {"recursive_doubling, within a node", allgather_recursive_doubling, {.min_bytes = 2 * kKi, .max_bytes = 32 * kKi - 1, .min_size = 4, .max_size = 16, .needs_power_of_two = true, .wants_shared_memory = true}},
    {"linear, within a node", allgather_linear, {.min_bytes = 512, .max_bytes = 2048 * kKi - 1, .min_size = 3, .max_size = 16, .wants_shared_memory = true}},
    {"linear, read by all", allgather_linear, {.min_bytes = 2048 * kKi, .min_size = 3, .max_size = 16, .wants = MemorySharing::memory}},
    {"linear, short", allgather_linear, kShortOfAll},
    {"recursive_doubling", allgather_recursive_doubling, {.max_bytes = 2048 * kKi, .needs_power_of_two = true}},
    {"bruck", allgather_bruck, {.max_bytes = 64 * kKi}},
    {"ring", allgather_ring, {}},
};
constexpr AlgorithmRow<Allgatherv> kAllgatherv[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"messages", SegmentPath::messages, kReadOfTwo},
    {"broadcast rings", SegmentPath::broadcast_ring, kLongOfTwo},
    {"inline linear", allgather_inline, kShortOfAll},
    {"linear, within a node", allgatherv_linear, {.min_bytes = 512, .max_bytes = 2048 * kKi - 1, .min_size = 3, .max_size = 16, .wants_shared_memory = true}},
    {"linear, read by all", allgatherv_linear, {.min_bytes = 2048 * kKi, .min_size = 3, .max_size = 16, .wants = MemorySharing::memory}},
    {"linear, short", allgatherv_linear, kShortOfAll},
    {"bruck", allgatherv_bruck, {.max_bytes = 64 * kKi, .min_size = 3}},
    {"ring", allgatherv_ring, {}},
};
constexpr AlgorithmRow<Alltoall> kAlltoall[] = {
    {"segment", SegmentPath::medium_buffer, kMediumOfTwo},
    {"messages", SegmentPath::messages, kReadOfTwo},
    {"broadcast rings", SegmentPath::broadcast_ring, kLongOfTwo},
    {"scatter buffers", SegmentPath::scatter_buffer, kParts},
    {"inline linear", alltoall_inline, on_one_node(kShort)},
    {"by nodes", alltoall_by_nodes, over_nodes_in_order(4 * kKi)},
    {"linear, within a node", alltoall_linear, {.max_bytes = 512 * kKi - 1, .min_size = 3, .max_size = 16, .wants_shared_memory = true}},
    {"linear, of 8 within a node", alltoall_linear, {.min_bytes = 512 * kKi, .min_size = 7, .max_size = 12, .wants_shared_memory = true}},
    {"bruck", alltoall_bruck, {.max_bytes = 256, .min_size = 17}},
    {"linear", alltoall_linear, {.max_bytes = 32 * kKi}},
    {"pairwise", alltoall_pairwise, {}},
};
constexpr AlgorithmRow<AlltoallInPlace> kAlltoallInPlace[] = {
    {"segment", SegmentPath::medium_buffer, kMediumOfTwo},
    {"broadcast rings", SegmentPath::broadcast_ring, kLongOfTwo},
    {"scatter buffers", SegmentPath::scatter_buffer, kParts},
    {"in_place", alltoall_in_place, {}},
};
constexpr AlgorithmRow<Alltoallw> kAlltoallv[] = {
    {"segment", SegmentPath::medium_buffer, kMediumOfTwo},
    {"messages", SegmentPath::messages, kReadOfTwo},
    {"broadcast rings", SegmentPath::broadcast_ring, kLongOfTwo},
    {"scatter buffers", SegmentPath::scatter_buffer, kParts},
    {"inline linear", alltoall_inline, kShort},
    {"linear", alltoallw_linear, {}},
};
constexpr AlgorithmRow<Alltoallw> kAlltoallw[] = {
    {"segment", SegmentPath::medium_buffer, kMediumOfTwo},
    {"messages", SegmentPath::messages, kReadOfTwo},
    {"broadcast rings", SegmentPath::broadcast_ring, kLongOfTwo},
    {"scatter buffers", SegmentPath::scatter_buffer, kParts},
    {"linear", alltoallw_linear, {}},
};
constexpr AlgorithmRow<Exchange> kExchange[] = {
    {"scatter buffers", SegmentPath::scatter_buffer, {}},
    {"linear", exchange_linear, {}},
};
constexpr AlgorithmRow<ReduceScatter> kReduceScatter[] = {
    {"segment", SegmentPath::medium_buffer, kMedium},
    {"inline pairwise", reduce_scatter_inline, kShortOfTwo},
    // within a node, halving has fewer waits, pairs do less work
    {"pairwise, of two", reduce_scatter_pairwise, {.min_bytes = 32 * kKi, .min_size = 2, .max_size = 2, .wants_shared_memory = true}},
    {"pairwise, of three", reduce_scatter_pairwise, {.min_bytes = 8 * kKi, .min_size = 3, .max_size = 3, .wants_shared_memory = true}},
    {"pairwise, of 8, read by all", reduce_scatter_pairwise, {.min_bytes = 32 * kKi, .max_bytes = 128 * kKi - 1, .min_size = 7, .max_size = 12, .wants = MemorySharing::memory}},
    {"halving, within a node", reduce_scatter_halving, {.max_bytes = 512 * kKi - 1, .min_size = 4, .max_size = 16, .needs_commutative = true, .wants_shared_memory = true}},
    {"halving", reduce_scatter_halving, {.max_bytes = 256 * kKi, .needs_commutative = true}},
    {"pairwise", reduce_scatter_pairwise, {}},
};
// long data also takes the chain, because recursive doubling sends log2(size) times as much
constexpr When kLongPrefix{.min_bytes = 32 * kKi}, kPrefixOfFew{.max_size = 16};
constexpr AlgorithmRow<Scan> kScan[] = {
    {"inline chain", scan_inline, kShort},
    {"chain", scan_chain, kLongPrefix},
    {"chain, of few", scan_chain, kPrefixOfFew},
    {"recursive_doubling", scan_recursive_doubling, {}},
};
constexpr AlgorithmRow<Scan> kExscan[] = {
    {"inline chain", exscan_inline, kShort},
    {"chain", exscan_chain, kLongPrefix},
    {"chain, of few", exscan_chain, kPrefixOfFew},
    {"recursive_doubling", exscan_recursive_doubling, {}},
};
// clang-format on

template <typename Function, std::size_t kSize>
AlgorithmRows<Function> rows_of(const AlgorithmRow<Function> (&rows)[kSize]) {
  return AlgorithmRows<Function>({std::begin(rows), std::end(rows)});
}

}  // namespace

const AlgorithmTable& default_table() {
  // never destroyed: the program's destructors may run collectives
  static const auto& table = *new AlgorithmTable{
      .barrier = rows_of(kBarrier),
      .bcast = rows_of(kBcast),
      .reduce = rows_of(kReduce),
      .allreduce = rows_of(kAllreduce),
      .gather = rows_of(kGather),
      .gatherv = rows_of(kGatherv),
      .scatter = rows_of(kScatter),
      .scatterv = rows_of(kScatterv),
      .allgather = rows_of(kAllgather),
      .allgatherv = rows_of(kAllgatherv),
      .alltoall = rows_of(kAlltoall),
      .alltoall_in_place = rows_of(kAlltoallInPlace),
      .alltoallv = rows_of(kAlltoallv),
      .alltoallw = rows_of(kAlltoallw),
      .exchange = rows_of(kExchange),
      .reduce_scatter = rows_of(kReduceScatter),
      .scan = rows_of(kScan),
      .exscan = rows_of(kExscan),
  };
  return table;
}

}  // namespace shim::coll
