// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

NodeMap::NodeMap(std::vector<std::string> hosts, std::vector<std::uint32_t> node_of)
    : hosts_(std::move(hosts)), node_of_(std::move(node_of)), ranks_on_(hosts_.size()) {
  local_rank_.reserve(node_of_.size());
  for (std::uint32_t rank = 0; rank < node_of_.size(); ++rank) {
    auto& ranks = ranks_on_[node_of_[rank]];
    local_rank_.push_back(static_cast<std::uint32_t>(ranks.size()));
    ranks.push_back(rank);
  }
}

std::span<const std::uint32_t> NodeMap::ranks_on(std::uint32_t node) const {
  return ranks_on_[node];
}

}  // namespace shim::bootstrap
