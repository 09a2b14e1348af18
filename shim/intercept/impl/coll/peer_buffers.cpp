// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/coll/peer_buffers.hpp"

#include <numeric>

namespace shim::intercept {

base::Error slow::of_peer(base::Error error, const char* what, int peer) {
  return std::move(error).within(std::string(what) + " side, peer " + std::to_string(peer));
}

Neighbourhood all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return {ranks, ranks, {}};
}

Messages messages_between(const Neighbourhood& neighbours,
                          const std::vector<types::ConstBuffer>& send,
                          const std::vector<types::Buffer>& receive) {
  Messages messages;
  auto keep = [&](const types::Type& type) {
    if (types::TypePtr kept = types::keep(type)) messages.types.push_back(std::move(kept));
  };
  for (std::size_t i = 0; i < send.size(); ++i) {
    if (neighbours.destinations[i] == p2p::kProcNull) continue;
    messages.out.push_back({send[i], neighbours.destinations[i]});
    keep(*send[i].type);
  }
  for (std::size_t number = 0; number < receive.size(); ++number) {
    const std::size_t i = neighbours.arrivals.empty()
                              ? number
                              : static_cast<std::size_t>(neighbours.arrivals[number]);
    if (neighbours.sources[i] == p2p::kProcNull) continue;
    messages.in.push_back({receive[i], neighbours.sources[i]});
    keep(*receive[i].type);
  }
  return messages;
}

}  // namespace shim::intercept
