// SPDX-License-Identifier: BSD-3-Clause
// Barrier on several nodes: gather within each node, barrier among node leaders, broadcast within
// each node. The gather and broadcast move one byte per process.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task barrier_by_nodes(Call call) {
  const NodeCalls calls(call);
  std::byte word{};
  const Bytes own(&word, 1);
  const Scratch scratch(call,
                        calls.is_node_leader() ? static_cast<std::uint64_t>(calls.within.size) : 0);
  Task in = select_task(&AlgorithmTable::gather, calls.within, 1)(
      calls.within, own, calls.is_node_leader() ? scratch.data() : nullptr, calls.node_leader);
  co_await in;
  if (calls.is_node_leader()) {
    Task across = select_task(&AlgorithmTable::barrier, calls.between, 0)(calls.between);
    co_await across;
  }
  Task out = select_task(&AlgorithmTable::bcast, calls.within, 1)(calls.within, own,
                                                                  calls.node_leader);
  co_await out;
}

}  // namespace shim::coll
