// SPDX-License-Identifier: BSD-3-Clause
// AlgorithmTable is the one table that selects how a collective runs.
//
// Each collective has a list of rows: name, algorithm, and when it applies. There are three kinds
// of algorithm, always listed in this order:
//   1. segment: a blocking collective in the collective segment of the communicator, if it has one
//      (shm_collective.hpp);
//   2. inline: a blocking collective on short data by messages, without a task
//      (inline_collective.hpp);
//   3. task: a coroutine, for blocking, non-blocking and persistent collectives (algorithms/).
// The first row that applies is selected (selector.hpp). algorithms.cpp has the rows that are
// compiled in; a tuning file puts rows in front of them (tuning.hpp).
#pragma once

#include <algorithm>
#include <array>
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
  bool wants_shared_memory = false;   ///< members must share something
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
           (!wants_shared_memory || sharing != MemorySharing::nothing) &&
           (nodes == nullptr || !wants_one_node);
  }
  /// True if only size and length matter.
  bool is_plain() const {
    return !needs_commutative && !needs_power_of_two && !needs_nodes && !needs_nodes_in_order &&
           !wants_one_node && !wants_shared_memory && wants == MemorySharing::nothing;
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

/// Kind of an algorithm, in the order of preference.
enum class Kind : std::uint8_t { segment, inlined, task };

/// An algorithm of one of the three kinds.
template <typename Function>
struct Algorithm {
  constexpr Algorithm(SegmentPath in_segment)  // NOLINT(google-explicit-constructor)
      : kind(Kind::segment), path(in_segment) {}
  constexpr Algorithm(InlineOf<Function>* inline_function)  // NOLINT(google-explicit-constructor)
      : kind(Kind::inlined), run_inline(inline_function) {}
  constexpr Algorithm(Function* coroutine)  // NOLINT(google-explicit-constructor)
      : kind(Kind::task), task(coroutine) {}

  Kind kind;
  SegmentPath path = SegmentPath::messages;  ///< messages: this row excludes the segment
  InlineOf<Function>* run_inline = nullptr;  ///< null: this row excludes inline algorithms
  Function* task = nullptr;
};

template <typename Function>
struct AlgorithmRow {
  std::string_view name;
  Algorithm<Function> algorithm;
  When when;
};

/// A row of kind segment, without the type of its collective. On the path of each short blocking
/// collective, so it knows whether the short comparison suffices.
struct SegmentRow {
  SegmentRow(SegmentPath where, const When& condition)
      : path(where), is_plain(condition.is_plain()), when(condition) {}

  SegmentPath path;
  bool is_plain;
  When when;

  bool applies(const Call& call, std::uint64_t bytes, bool commutative) const {
    if (is_plain) [[likely]]
      return bytes >= when.min_bytes && bytes <= when.max_bytes && call.size >= when.min_size &&
             call.size <= when.max_size;
    return when.applies(call, bytes, commutative);
  }
};

/// The rows of one collective, in order of preference. The last one is a task that always applies.
template <typename Function>
class AlgorithmRows {
 public:
  using Row = AlgorithmRow<Function>;

  /// @param rows ordered by kind
  explicit AlgorithmRows(std::vector<Row> rows) : rows_(std::move(rows)) {
    for (const Row& row : rows_) ++of(row.algorithm.kind).compiled_in;
    index();
  }
  /// Add a row before the rows of its kind that are compiled in, after the rows added before.
  void add(const Row& row) {
    Count& count = of(row.algorithm.kind);
    const auto start = rows_.begin() + static_cast<std::ptrdiff_t>(first(row.algorithm.kind));
    rows_.insert(start + static_cast<std::ptrdiff_t>(count.added++), row);
    index();
  }
  std::span<const Row> all() const { return rows_; }
  std::span<const SegmentRow> segment() const { return segment_; }
  std::span<const Row> inlines() const { return rows_of(Kind::inlined); }
  std::span<const Row> tasks() const { return rows_of(Kind::task); }
  /// True if blocking collectives among this many members are rounds of the collective segment, if
  /// there is one. Does not depend on lengths, so that members with different lengths agree.
  bool are_rounds(int size) const {
    return size <= node::kMaxShmCollMembers && (sizes_of_rounds_ >> size & 1) != 0;
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
  struct Count {
    std::size_t added = 0, compiled_in = 0;
  };
  Count& of(Kind kind) { return counts_[static_cast<std::size_t>(kind)]; }
  std::size_t count(Kind kind) const {
    const Count& count = counts_[static_cast<std::size_t>(kind)];
    return count.added + count.compiled_in;
  }
  std::size_t first(Kind kind) const {
    return kind == Kind::segment   ? 0
           : kind == Kind::inlined ? count(Kind::segment)
                                   : rows_.size() - count(Kind::task);
  }
  std::span<const Row> rows_of(Kind kind) const {
    return std::span(rows_).subspan(first(kind), count(kind));
  }
  void index() {
    segment_.clear();
    sizes_of_rounds_ = 0;
    for (const Row& row : rows_of(Kind::segment)) {
      segment_.emplace_back(row.algorithm.path, row.when);
      if (row.algorithm.path == SegmentPath::messages) continue;
      for (int size = row.when.min_size;
           size <= std::min(row.when.max_size, node::kMaxShmCollMembers); ++size)
        sizes_of_rounds_ |= 1u << size;
    }
  }

  std::vector<Row> rows_;
  std::array<Count, 3> counts_;
  std::vector<SegmentRow> segment_;
  std::uint32_t sizes_of_rounds_ = 0;  ///< bit n: for n members
};

/// Size: one member for each collective. `bytes` of a row are those of:
struct AlgorithmTable {
  std::uint32_t checksum = 0;                        ///< of the rows of a tuning file; 0: none
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
/// Call body(name, rows) for each collective; `rows` points to its member of AlgorithmTable.
template <typename Body>
void for_each_collective(const Body& body) {
  body(std::string_view("barrier"), &AlgorithmTable::barrier);
  body(std::string_view("bcast"), &AlgorithmTable::bcast);
  body(std::string_view("reduce"), &AlgorithmTable::reduce);
  body(std::string_view("allreduce"), &AlgorithmTable::allreduce);
  body(std::string_view("gather"), &AlgorithmTable::gather);
  body(std::string_view("gatherv"), &AlgorithmTable::gatherv);
  body(std::string_view("scatter"), &AlgorithmTable::scatter);
  body(std::string_view("scatterv"), &AlgorithmTable::scatterv);
  body(std::string_view("allgather"), &AlgorithmTable::allgather);
  body(std::string_view("allgatherv"), &AlgorithmTable::allgatherv);
  body(std::string_view("alltoall"), &AlgorithmTable::alltoall);
  body(std::string_view("alltoall_in_place"), &AlgorithmTable::alltoall_in_place);
  body(std::string_view("alltoallv"), &AlgorithmTable::alltoallv);
  body(std::string_view("alltoallw"), &AlgorithmTable::alltoallw);
  body(std::string_view("exchange"), &AlgorithmTable::exchange);
  body(std::string_view("reduce_scatter"), &AlgorithmTable::reduce_scatter);
  body(std::string_view("scan"), &AlgorithmTable::scan);
  body(std::string_view("exscan"), &AlgorithmTable::exscan);
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
