// SPDX-License-Identifier: BSD-3-Clause
// Broadcast on several nodes: to the node leaders, then within each node.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task bcast_by_nodes(Call call, Bytes data, int root) {
  const NodeCalls calls(call, root);
  if (calls.is_node_leader()) {
    Task across = select_task(&AlgorithmTable::bcast, calls.between, data.size())(
        calls.between, data, calls.root_node);
    co_await across;
  }
  Task within = select_task(&AlgorithmTable::bcast, calls.within, data.size())(calls.within, data,
                                                                               calls.node_leader);
  co_await within;
}

}  // namespace shim::coll
