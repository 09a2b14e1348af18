// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that halve or double want a power of two. For other sizes the first processes fold in pairs of neighbours, so that
// one of each pair stands for both and the order of ranks stays: 2i and 2i+1 become number i, the rest move up.
#pragma once

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

struct Fold {
  /// `prefer`: a rank that shall not be the one folded away (a root), or -1.
  explicit Fold(int size, int prefer = -1);

  int power = 1;    ///< largest power of two that is not above size
  int pairs = 0;    ///< size - power
  int preferred = -1;

  bool is_in_pair(int rank) const { return rank < 2 * pairs; }
  static int other_of_pair(int rank) { return rank ^ 1; }
  /// Does this rank take part in the algorithm proper? The higher of a pair does, unless the lower is preferred.
  bool is_active(int rank) const;
  /// The number of the pair or process that this rank belongs to, 0 to power - 1.
  int number_of(int rank) const { return is_in_pair(rank) ? rank / 2 : rank - pairs; }
  /// The rank that acts as this number.
  int rank_of(int number) const;
  /// The lowest rank that this number stands for.
  int first_rank_of(int number) const { return number < pairs ? 2 * number : number + pairs; }
};

/// The folded away send their value to their pair's active one, which combines it with its own.
Task fold_values(Call call, Operands operands, Fold fold, Accumulator* accumulator);
/// The active ones of pairs send the final value to the other, which receives it into `result`.
Task unfold_values(Call call, Operands operands, Fold fold, void* result);

}  // namespace shim::coll
