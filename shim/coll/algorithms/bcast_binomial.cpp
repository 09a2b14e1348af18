// SPDX-License-Identifier: BSD-3-Clause
// Broadcast down a binomial tree, for short data: ceil(log2 size) rounds.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/tree.hpp"

namespace shim::coll {

Task bcast_binomial(Call call, Bytes data, int root) {
  Tree tree(call.rank, call.size, root);
  if (!tree.is_root()) co_await call.receive(data, tree.rank_of(tree.parent()));
  // largest subtree first, because its path is the longest
  for (int distance = tree.reach() / 2; distance > 0; distance /= 2) {
    int child = tree.number + distance;
    if (child < tree.size) co_await call.post_send(data, tree.rank_of(child));
  }
  co_await call.done();
}

}  // namespace shim::coll
