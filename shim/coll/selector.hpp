// SPDX-License-Identifier: BSD-3-Clause
// run_selected() runs a collective by the first row of the communicator's table that applies.
#pragma once

#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/inline_collective.hpp"
#include "shim/coll/shm_collective.hpp"

namespace shim::coll {

/// Run a collective on an intracommunicator: in the segment and inline to its end, otherwise return
/// its task. All members select the same row, because they pass equal bytes, except as the table's
/// members say (AlgorithmTable).
///
/// Arguments describes one call of one collective:
///   kRows                     its member of AlgorithmTable
///   bytes(call)               the bytes that rows refer to
///   commutes()                true unless it is a reduction by an operation that does not commute
///   in_segment(shm)           run it in the segment; return false to continue with messages
///   run_inline(algorithm, d)  run an inline algorithm
///   as_task(call, algorithm)  return a task
template <typename Arguments>
Task run_selected(const CollSeq& seq, const Arguments& arguments) {
  const auto& rows = seq.comm->table().*Arguments::kRows;
  if (seq.is_blocking && rows.are_rounds(seq.comm->size())) {
    if (auto done = try_shm_collective(
            seq, rows.segment(), [&](ShmCollective& shm) { return arguments.in_segment(shm); }))
      return std::move(*done);
  }
  const Call call = call_on(seq);
  const std::uint64_t bytes = arguments.bytes(call);
  if (auto* algorithm = seq.is_blocking ? rows.inline_for(call, bytes) : nullptr)
    return run_inline_collective(seq, call, [&](InlineCollective& collective) {
      arguments.run_inline(algorithm, collective);
    });
  return arguments.as_task(call, rows.task_for(call, bytes, arguments.commutes()));
}

/// Base class of the arguments of collectives without an operation.
struct MovesData {
  static bool commutes() { return true; }
};
/// Base classes of the arguments of collectives without algorithms of a kind.
struct NeverInSegment {
  static bool in_segment(ShmCollective&) { return false; }
};
struct NeverInline {
  template <typename Algorithm>
  static void run_inline(Algorithm*, InlineCollective&) {}
};

}  // namespace shim::coll
