// SPDX-License-Identifier: BSD-3-Clause
// AlgorithmTable is the one table that selects how a collective runs.
//
// Each collective has a list of rows: name, algorithm, and when it applies. There are three kinds
// of algorithm, always listed in this order:
//   1. segment: a blocking collective in the collective segment of the communicator, if it has one
//      (shm_collective.hpp);
//   2. inline: a blocking collective on short data by messages, without a task (direct.hpp);
//   3. task: a coroutine, for blocking, non-blocking and persistent collectives (algorithms/).
// The first row that applies is selected (selector.hpp). algorithms.cpp has the rows that are
// compiled in; a tuning file puts rows in front of them (tuning.hpp).
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

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
  bool applies(const Call& call, std::uint64_t bytes, bool commutative = true) const {
    return is_possible(call.size, commutative, call.nodes) &&
           is_good(call.size, bytes, call.sharing, call.nodes);
  }
};

/// Where a member of a shm collective puts its data (docs/decisions/0036, 0037, 0045).
enum class SegmentPath : std::uint8_t {
  messages,        ///< not in the segment: the member publishes a fallback and sends messages
  medium_buffer,   ///< inline slot or medium buffer
  scatter_buffer,  ///< a buffer with a part for each other member
  broadcast_ring,  ///< pipelined through a broadcast ring
};

/// An algorithm of one of the three kinds.
template <typename Function>
struct Algorithm {
  constexpr Algorithm(SegmentPath in_segment)  // NOLINT(google-explicit-constructor)
      : path(in_segment) {}
  constexpr Algorithm(InlineOf<Function>* inline_function)  // NOLINT(google-explicit-constructor)
      : run_inline(inline_function) {}
  constexpr Algorithm(Function* coroutine)  // NOLINT(google-explicit-constructor)
      : task(coroutine) {}

  SegmentPath path = SegmentPath::messages;
  InlineOf<Function>* run_inline = nullptr;
  Function* task = nullptr;
};

template <typename Function>
struct AlgorithmRow {
  std::string_view name;
  Algorithm<Function> algorithm;
  When when;
};

/// A row of kind segment, without the type of its collective.
struct SegmentRow {
  SegmentPath path;
  When when;
};

/// The rows of one collective, in order of preference. The last one is a task that always applies.
template <typename Function>
class AlgorithmRows {
 public:
  using Row = AlgorithmRow<Function>;

  /// @param rows ordered by kind
  explicit AlgorithmRows(std::vector<Row> rows) : rows_(std::move(rows)) {
    for (const Row& row : rows_) {
      if (row.algorithm.path != SegmentPath::messages)
        segment_.push_back({row.algorithm.path, row.when});
      if (row.algorithm.task == nullptr) ++first_task_;
    }
  }
  std::span<const Row> all() const { return rows_; }
  std::span<const SegmentRow> segment() const { return segment_; }
  std::span<const Row> inlines() const {
    return std::span(rows_).subspan(segment_.size(), first_task_ - segment_.size());
  }
  std::span<const Row> tasks() const { return std::span(rows_).subspan(first_task_); }
  /// True if blocking collectives among this many members are rounds of the collective segment, if
  /// there is one. Does not depend on lengths, so that members with different lengths agree.
  bool are_rounds(int size) const {
    return std::ranges::any_of(segment_, [size](const SegmentRow& row) {
      return size >= row.when.min_size && size <= row.when.max_size;
    });
  }
  /// Return the inline algorithm of a blocking collective; null: none.
  InlineOf<Function>* inline_for(const Call& call, std::uint64_t bytes) const {
    for (const Row& row : inlines())
      if (row.when.applies(call, bytes)) return row.algorithm.run_inline;
    return nullptr;
  }
  Function* task_for(const Call& call, std::uint64_t bytes, bool commutative = true) const {
    for (const Row& row : tasks())
      if (row.when.applies(call, bytes, commutative)) return row.algorithm.task;
    return rows_.back().algorithm.task;
  }

 private:
  std::vector<Row> rows_;
  std::vector<SegmentRow> segment_;
  std::size_t first_task_ = 0;
};

/// Has one member for each collective, therefore more than 15. `bytes` of a row are those of:
struct AlgorithmTable {
  AlgorithmRows<Barrier> barrier;                    ///< no bytes
  AlgorithmRows<Bcast> bcast;                        ///< the data
  AlgorithmRows<Reduce> reduce;                      ///< one process's data
  AlgorithmRows<Allreduce> allreduce;                ///< one process's data
  AlgorithmRows<Gather> gather;                      ///< one block
  AlgorithmRows<Gatherv> gatherv;                    ///< the own block; at the root the longest
  AlgorithmRows<Scatter> scatter;                    ///< one block
  AlgorithmRows<Scatterv> scatterv;                  ///< the own block; at the root the longest
  AlgorithmRows<Allgather> allgather;                ///< all blocks; rows of the segment: one block
  AlgorithmRows<Allgatherv> allgatherv;              ///< all blocks; segment: the longest block
  AlgorithmRows<Alltoall> alltoall;                  ///< one block
  AlgorithmRows<AlltoallInPlace> alltoall_in_place;  ///< one block
  AlgorithmRows<Alltoallw> alltoallv;                ///< the longest block
  AlgorithmRows<Alltoallw> alltoallw;                ///< the longest block
  AlgorithmRows<Exchange> exchange;                  ///< the longest block
  AlgorithmRows<ReduceScatter> reduce_scatter;  ///< one process's data; segment: without its part
  AlgorithmRows<Scan> scan, exscan;             ///< one process's data
};
/// Call body(name, rows) for each collective of a table, const or not.
template <typename Table, typename Body>
void for_each_collective(Table& table, const Body& body) {
  body("barrier", table.barrier);
  body("bcast", table.bcast);
  body("reduce", table.reduce);
  body("allreduce", table.allreduce);
  body("gather", table.gather);
  body("gatherv", table.gatherv);
  body("scatter", table.scatter);
  body("scatterv", table.scatterv);
  body("allgather", table.allgather);
  body("allgatherv", table.allgatherv);
  body("alltoall", table.alltoall);
  body("alltoall_in_place", table.alltoall_in_place);
  body("alltoallv", table.alltoallv);
  body("alltoallw", table.alltoallw);
  body("exchange", table.exchange);
  body("reduce_scatter", table.reduce_scatter);
  body("scan", table.scan);
  body("exscan", table.exscan);
}
/// Return the table that is compiled in.
const AlgorithmTable& default_table();

/// Return the task of a collective among the members of `call`, which another collective is made
/// of.
template <typename Function>
Function* select_task(AlgorithmRows<Function> AlgorithmTable::*rows, const Call& call,
                      std::uint64_t bytes, bool commutative = true) {
  return (call.table->*rows).task_for(call, bytes, commutative);
}

}  // namespace shim::coll
