// SPDX-License-Identifier: BSD-3-Clause
// Scatter to several nodes, which are in order: each node's blocks as one message to its speaker, and within the node from there.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task scatter_by_nodes(Call call, const std::byte* all, Bytes own, int root) {
  const NodeCalls calls(call, root);
  const std::uint64_t block = own.size();
  const bool is_root = call.rank == root;
  const Part part = calls.part(calls.nodes.own(), block);
  const Scratch room(call, calls.is_speaker() && !is_root ? part.bytes : 0);
  const std::byte* of_node = is_root ? all + part.offset : room.data();
  if (calls.is_speaker()) {
    const Parts parts = calls.parts(block);
    const Bytes into(const_cast<std::byte*>(of_node), part.bytes);  // the root's own part is where it is: nothing is written to it
    Task across = scatterv_linear(calls.between, all, parts, into, calls.root_node);
    co_await across;
  }
  Task within = choose(table().scatter, calls.within, block)(calls.within, calls.is_speaker() ? of_node : nullptr, own, calls.speaker);
  co_await within;
}

}  // namespace shim::coll
