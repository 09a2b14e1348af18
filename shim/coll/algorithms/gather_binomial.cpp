// SPDX-License-Identifier: BSD-3-Clause
// Gather up a binomial tree, for short blocks.
// A process collects its subtree's blocks, which are consecutive in the tree's numbering, and sends
// them in one message.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/tree.hpp"

namespace shim::coll {

Task gather_binomial(Call call, ConstBytes own, std::byte* all, int root) {
  Tree tree(call.rank, call.size, root);
  std::uint64_t block = own.size();
  auto blocks = [block](int count) { return static_cast<std::uint64_t>(count) * block; };
  if (!tree.is_root() && tree.subtree() == 1) {
    co_await call.send(own, tree.rank_of(tree.parent()));
    co_return;
  }
  // With root 0, numbers are ranks, and all blocks arrive in their final position.
  bool is_direct = tree.is_root() && root == 0;
  Scratch scratch(call, is_direct ? 0 : blocks(tree.subtree()));
  std::byte* mine = is_direct ? all : scratch.data();
  copy_bytes(own.data(), mine, block);
  for (int distance = 1; distance < tree.reach(); distance *= 2) {
    int child = tree.number + distance;
    if (child >= tree.size) break;
    co_await call.post_receive(
        Bytes(mine + blocks(distance), blocks(tree.subtree(child, distance))), tree.rank_of(child));
  }
  co_await call.done();
  if (!tree.is_root()) {
    co_await call.send(ConstBytes(mine, blocks(tree.subtree())), tree.rank_of(tree.parent()));
  } else if (!is_direct) {
    int before_wrap = call.size - root;  // numbers 0... are ranks root..., then 0...
    copy_bytes(mine, all + blocks(root), blocks(before_wrap));
    copy_bytes(mine + blocks(before_wrap), all, blocks(root));
  }
}

}  // namespace shim::coll
