// SPDX-License-Identifier: BSD-3-Clause
// Fold maps ranks to a power of two of numbers.
// The first 2 * pairs processes form pairs of neighbors, and one of each pair acts for both: ranks
// 2i and 2i+1 become number i, higher ranks move down. Numbers are in the order of ranks.
#pragma once

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

struct Fold {
  /// `prefer`: a rank that must stay active (a root), or -1.
  explicit Fold(int size, int prefer = -1);

  int power = 1;  ///< largest power of two <= size
  int pairs = 0;  ///< size - power
  int preferred = -1;

  bool is_in_pair(int rank) const { return rank < 2 * pairs; }
  static int other_of_pair(int rank) { return rank ^ 1; }
  /// True if this rank takes part in the power-of-two algorithm: every rank outside pairs, and one
  /// rank of each pair, which is the higher one unless the lower one is preferred.
  bool is_active(int rank) const;
  /// Return the number of the pair or process that this rank belongs to, 0 to power - 1.
  int number_of(int rank) const { return is_in_pair(rank) ? rank / 2 : rank - pairs; }
  /// Return the active rank with this number.
  int rank_of(int number) const;
  /// Return the lowest rank with this number.
  int first_rank_of(int number) const { return number < pairs ? 2 * number : number + pairs; }
};

/// Combine the values of each pair at its active rank: the inactive rank sends its value, and the
/// active rank combines it with its own in rank order. Ranks outside pairs do nothing.
Task fold_values(Call call, Operands operands, Fold fold, Accumulator* accumulator);
/// Copy the final value within each pair: the active rank sends its `result`, and the inactive rank
/// receives it into its `result`. Ranks outside pairs do nothing.
Task unfold_values(Call call, Operands operands, Fold fold, void* result);

}  // namespace shim::coll
