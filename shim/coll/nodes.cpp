// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/nodes.hpp"

#include <algorithm>
#include <unordered_map>

namespace shim::coll {

std::unique_ptr<const Nodes> Nodes::of(int size, int own_rank,
                                       const std::function<std::uint32_t(int)>& node_of,
                                       MemorySharing sharing) {
  std::unique_ptr<Nodes> nodes(new Nodes);
  nodes->size_ = size;
  nodes->sharing_ = sharing;
  std::unordered_map<std::uint32_t, int> numbers;
  for (int rank = 0; rank < size; ++rank) {
    const auto [known, is_new] = numbers.try_emplace(node_of(rank), nodes->count());
    if (is_new) nodes->leaders_.push_back(rank);
    if (rank == 0 || nodes->runs_.back().node != known->second)
      nodes->runs_.push_back({rank, known->second});
  }
  if (nodes->count() < 2 || nodes->count() == size) return nullptr;
  nodes->own_ = nodes->node_of(own_rank);
  for (std::size_t i = 0; i < nodes->runs_.size(); ++i) {
    const int end = i + 1 < nodes->runs_.size() ? nodes->runs_[i + 1].first : size;
    if (nodes->runs_[i].node != nodes->own_) continue;
    for (int rank = nodes->runs_[i].first; rank < end; ++rank) nodes->members_.push_back(rank);
  }
  return nodes;
}

int Nodes::node_of(int rank) const {
  const auto next = std::upper_bound(runs_.begin(), runs_.end(), rank,
                                     [](int value, const Run& run) { return value < run.first; });
  return std::prev(next)->node;
}

}  // namespace shim::coll
