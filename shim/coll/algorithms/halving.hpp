// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner's two halves. Reducing: in round k, partners 2^k apart each hand over half of what they have and combine the other
// half, until everyone has the final value of one part. Since partners stand for neighbouring runs of ranks, the order of ranks
// stays. Then the parts travel the same way back: to all, or to one.
#pragma once

#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/fold.hpp"

namespace shim::coll {

/// Consecutive parts of the vector, of as many as there are active processes.
struct PartRange {
  int first, end;
};
/// The parts that this number has after the rounds with distances below `distance`.
PartRange range_of(int number, int distance, int power);

// For active processes. `value` ends with the final value in the parts range_of(number, power, power).
Task reduce_by_halving(Call call, Operands operands, Fold fold, void* value, void* spare);
/// ... then everyone has all parts.
Task share_parts(Call call, Operands operands, Fold fold, void* value);
/// ... then the process of number `root` has.
Task collect_parts(Call call, Operands operands, Fold fold, void* value, int root);

}  // namespace shim::coll
