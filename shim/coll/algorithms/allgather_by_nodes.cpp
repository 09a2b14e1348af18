// SPDX-License-Identifier: BSD-3-Clause
// Allgather of several nodes, which are in order: each node's blocks at its speaker, an allgather of nodes' parts among the speakers, and
// all of it back to the members.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task allgather_by_nodes(Call call, std::byte* all, std::uint64_t block) {
  const NodeCalls calls(call);
  const Part part = calls.part(calls.nodes.own(), block);
  const ConstBytes own(all + static_cast<std::uint64_t>(call.rank) * block, block);
  std::byte* of_node = calls.is_speaker() ? all + part.offset : nullptr;
  Task within = choose(table().gather, calls.within, block)(calls.within, own, of_node, calls.speaker);
  co_await within;
  const std::uint64_t bytes = static_cast<std::uint64_t>(call.size) * block;
  if (calls.is_speaker()) {
    const Parts parts = calls.parts(block);
    Task across = choose(table().allgatherv, calls.between, bytes)(calls.between, all, parts);
    co_await across;
  }
  Task back = choose(table().bcast, calls.within, bytes)(calls.within, Bytes(all, bytes), calls.speaker);
  co_await back;
}

}  // namespace shim::coll
