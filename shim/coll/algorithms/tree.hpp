// SPDX-License-Identifier: BSD-3-Clause
// Tree is the binomial tree of bcast, gather, scatter and reduce.
// Processes are numbered relative to the root, which is 0. A number's parent is the number without
// its lowest set bit; a subtree is a run of consecutive numbers.
#pragma once

#include <algorithm>

namespace shim::coll {

struct Tree {
  Tree(int own_rank, int of_size, int of_root)
      : size(of_size), root(of_root), number((own_rank - of_root + of_size) % of_size) {}

  int size, root;
  int number;  ///< this process's number

  int rank_of(int relative) const { return (relative + root) % size; }
  bool is_root() const { return number == 0; }
  int parent() const { return number & (number - 1); }
  /// Return the lowest set bit of this process's number (for the root, the first power of two >=
  /// size). Its children are number + reach/2, ..., number + 2, number + 1.
  int reach() const {
    if (number != 0) return number & -number;
    int bit = 1;
    while (bit < size) bit *= 2;
    return bit;
  }
  /// Return the size of the subtree of a child at this distance, child included.
  int subtree(int child, int distance) const { return std::min(distance, size - child); }
  /// Return the size of this process's subtree.
  int subtree() const { return std::min(reach(), size - number); }
};

}  // namespace shim::coll
