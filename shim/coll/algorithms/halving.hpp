// SPDX-License-Identifier: BSD-3-Clause
// The two phases of Rabenseifner's algorithm: reduce-scatter by halving, then allgather or gather.
// In round k, partners at distance 2^k each send half of their data and combine the other half,
// until each has the final value of one part. Partners have combined the values of neighboring runs
// of ranks, so that operands combine in the order of ranks. Then partners exchange the final parts
// in reverse order of rounds, or send them towards one process.
#pragma once

#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/fold.hpp"

namespace shim::coll {

/// Consecutive parts of the vector, which has one part per active process.
struct PartRange {
  int first, end;
};
/// Return the parts that the process with this number still combines after the rounds with
/// distances below `distance`. `power`: number of active processes and of parts.
PartRange range_of(int number, int distance, int power);

// For active processes (Fold) only. First reduce: afterwards `value` has the final value in the
// parts range_of(number, power, power).
Task reduce_by_halving(Call call, Operands operands, Fold fold, void* value, void* spare);
/// Then distribute all parts to all active processes (allgather).
Task share_parts(Call call, Operands operands, Fold fold, void* value);
/// Or collect all parts at the process with number `root` (gather).
Task collect_parts(Call call, Operands operands, Fold fold, void* value, int root);

}  // namespace shim::coll
