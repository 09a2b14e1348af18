// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long data by van de Geijn's algorithm.
// Scatter equal parts down a binomial tree, then allgather them around a ring. Each process sends
// about twice the data at any size.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/tree.hpp"

namespace shim::coll {
namespace {

// Scatter: afterwards number i of the tree has part i.
Task scatter_parts(Call call, Bytes data, int root) {
  Tree tree(call.rank, call.size, root);
  EvenParts parts{data.size(), static_cast<std::uint64_t>(call.size)};
  auto run_of_parts = [&](int first, int count) {
    return data.subspan(parts.first(first), parts.count(first, first + count));
  };
  if (!tree.is_root()) {
    co_await call.receive(run_of_parts(tree.number, tree.subtree()), tree.rank_of(tree.parent()));
  }
  for (int distance = tree.reach() / 2; distance > 0; distance /= 2) {
    int child = tree.number + distance;
    if (child >= tree.size) continue;
    co_await call.post_send(run_of_parts(child, tree.subtree(child, distance)),
                            tree.rank_of(child));
  }
  co_await call.done();
}

}  // namespace

Task bcast_scatter_ring(Call call, Bytes data, int root) {
  Task scatter = scatter_parts(call, data, root);
  co_await scatter;
  EvenParts even{data.size(), static_cast<std::uint64_t>(call.size)};
  BlockSpans by_rank(static_cast<std::size_t>(call.size));
  for (int number = 0; number < call.size; ++number) {
    auto rank = static_cast<std::size_t>((number + root) % call.size);
    by_rank[rank] = {static_cast<std::int64_t>(even.first(number)), even.count(number)};
  }
  Task gather = allgatherv_ring(call, data.data(), by_rank);
  co_await gather;
}

}  // namespace shim::coll
