// SPDX-License-Identifier: BSD-3-Clause
// Scatter down a binomial tree, for short blocks: the reverse of gather_binomial.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/tree.hpp"

namespace shim::coll {

Task scatter_binomial(Call call, const std::byte* all, Bytes own, int root) {
  Tree tree(call.rank, call.size, root);
  std::uint64_t block = own.size();
  auto blocks = [block](int count) { return static_cast<std::uint64_t>(count) * block; };
  if (!tree.is_root() && tree.subtree() == 1) {
    co_await call.receive(own, tree.rank_of(tree.parent()));
    co_return;
  }
  bool is_direct = tree.is_root() && root == 0;
  Scratch scratch(call, is_direct ? 0 : blocks(tree.subtree()));
  const std::byte* mine = is_direct ? all : scratch.data();
  if (!tree.is_root()) {
    co_await call.receive(scratch.all(), tree.rank_of(tree.parent()));
  } else if (!is_direct) {
    int before_wrap = call.size - root;
    copy_bytes(all + blocks(root), scratch.data(), blocks(before_wrap));
    copy_bytes(all, scratch.data() + blocks(before_wrap), blocks(root));
  }
  for (int distance = tree.reach() / 2; distance > 0; distance /= 2) {
    int child = tree.number + distance;
    if (child >= tree.size) continue;
    co_await call.post_send(
        ConstBytes(mine + blocks(distance), blocks(tree.subtree(child, distance))),
        tree.rank_of(child));
  }
  // in place at the root, leave the local block unchanged
  if (!tree.is_root() || own.data() != all + blocks(root)) copy_bytes(mine, own.data(), block);
  co_await call.done();
}

}  // namespace shim::coll
