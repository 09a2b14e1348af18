// SPDX-License-Identifier: BSD-3-Clause
// Barrier of several nodes: each node's speaker hears its members, then the other speakers, then tells its members.
#include "shim/coll/algorithms/node_calls.hpp"

namespace shim::coll {

Task barrier_by_nodes(Call call) {
  const NodeCalls calls(call);
  std::byte word{};
  const Bytes own(&word, 1);
  const Scratch heard(call, calls.is_speaker() ? static_cast<std::uint64_t>(calls.within.size) : 0);
  Task in = choose(table().gather, calls.within, 1)(calls.within, own, calls.is_speaker() ? heard.data() : nullptr, calls.speaker);
  co_await in;
  if (calls.is_speaker()) {
    Task across = choose(table().barrier, calls.between, 0)(calls.between);
    co_await across;
  }
  Task out = choose(table().bcast, calls.within, 1)(calls.within, own, calls.speaker);
  co_await out;
}

}  // namespace shim::coll
