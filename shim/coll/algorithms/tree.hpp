// SPDX-License-Identifier: BSD-3-Clause
// The binomial tree that bcast, gather, scatter and reduce share. Processes have numbers relative to the root, which is 0; the
// parent of a number is the number without its lowest set bit, and a subtree is a run of consecutive numbers.
#pragma once

#include <algorithm>

namespace shim::coll {

struct Tree {
  Tree(int own_rank, int of_size, int of_root)
      : size(of_size), root(of_root), number((own_rank - of_root + of_size) % of_size) {}

  int size, root;
  int number;  ///< our own

  int rank_of(int relative) const { return (relative + root) % size; }
  bool is_root() const { return number == 0; }
  int parent() const { return number & (number - 1); }
  /// The bit of our own in the number of our parent's children: our children are number + reach/2, … number + 2, number + 1.
  int reach() const {
    if (number != 0) return number & -number;
    int bit = 1;
    while (bit < size) bit *= 2;
    return bit;
  }
  /// Processes in the subtree of a child at this distance, the child included.
  int subtree(int child, int distance) const { return std::min(distance, size - child); }
  /// Processes in our own subtree.
  int subtree() const { return std::min(reach(), size - number); }
};

}  // namespace shim::coll
