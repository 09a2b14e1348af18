// SPDX-License-Identifier: BSD-3-Clause
// Maps grid positions to processes so that neighbors share nodes. Each node gets a block of the
// grid; all blocks are equal and have minimal surface (Gropp, "Using node and socket information to
// implement MPI Cartesian topologies", 2019). Every member computes an equal result from common
// data.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions {
namespace {

using Dims = std::vector<int>;

/// Return coordinates, row-major, as in MPI's Cartesian ranks.
Dims coords_of(int rank, const Dims& dims) {
  Dims coords(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; rank /= dims[i]) coords[i] = rank % dims[i];
  return coords;
}
int rank_at(const Dims& coords, const Dims& dims) {
  int rank = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) rank = rank * dims[i] + coords[i];
  return rank;
}

/// Return the number of neighbor pairs on different nodes.
std::int64_t pairs_apart(const std::vector<std::uint32_t>& node_at, const Dims& dims,
                         const std::vector<int>& periods) {
  std::int64_t apart = 0;
  for (int rank = 0; rank < static_cast<int>(node_at.size()); ++rank) {
    Dims coords = coords_of(rank, dims);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const int here = coords[i];
      if (here + 1 == dims[i] && periods[i] == 0) continue;
      coords[i] = (here + 1) % dims[i];
      apart += node_at[static_cast<std::size_t>(rank_at(coords, dims))] !=
               node_at[static_cast<std::size_t>(rank)];
      coords[i] = here;
    }
  }
  return apart;
}

/// Finds the block of `processes` positions with minimal surface whose sides divide the grid's; the
/// first in the order of sides if there are several.
class BlockSearch {
 public:
  BlockSearch(const Dims& dims, const std::vector<int>& periods, int processes)
      : dims_(dims), periods_(periods), sides_(dims.size(), 1) {
    try_from(0, processes);
  }
  const std::optional<Dims>& best() const { return best_; }

 private:
  void try_from(std::size_t i, int left) {
    if (i == dims_.size()) {
      if (left == 1) judge();
      return;
    }
    for (int side = 1; side <= std::min(left, dims_[i]); ++side) {
      if (left % side != 0 || dims_[i] % side != 0) continue;
      sides_[i] = side;
      try_from(i + 1, left / side);
    }
  }
  void judge() {
    std::int64_t surface = 0;  // pairs of neighbors on both sides of a block boundary
    const int size = std::accumulate(dims_.begin(), dims_.end(), 1, std::multiplies<>());
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      const int blocks = dims_[i] / sides_[i];
      if (blocks > 1) surface += std::int64_t{blocks - (periods_[i] == 0)} * (size / dims_[i]);
    }
    if (surface >= least_) return;
    least_ = surface;
    best_ = sides_;
  }

  const Dims& dims_;
  const std::vector<int>& periods_;
  Dims sides_;
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
  std::optional<Dims> best_;
};

/// Return the member at each position, if every node has a block of these sides.
std::vector<int> in_blocks(const std::vector<std::vector<int>>& by_node, const Dims& dims,
                           const Dims& sides) {
  Dims blocks = dims;
  for (std::size_t i = 0; i < dims.size(); ++i) blocks[i] /= sides[i];
  std::vector<int> member_at;
  const int size = static_cast<int>(by_node.size() * by_node.front().size());
  for (int rank = 0; rank < size; ++rank) {
    Dims block = coords_of(rank, dims), inside = block;
    for (std::size_t i = 0; i < dims.size(); ++i) block[i] /= sides[i], inside[i] %= sides[i];
    member_at.push_back(by_node[static_cast<std::size_t>(rank_at(block, blocks))]
                               [static_cast<std::size_t>(rank_at(inside, sides))]);
  }
  return member_at;
}

}  // namespace

std::vector<std::vector<int>> members_by_node(const Group& group, const bootstrap::NodeMap& nodes) {
  std::vector<std::vector<int>> members;
  std::map<std::uint32_t, std::size_t> index_of_node;
  for (int rank = 0; rank < group.size(); ++rank) {
    auto [at, is_new] = index_of_node.try_emplace(nodes.node_of(group.at(rank).rank),
                                                  members.size());
    if (is_new) members.emplace_back();
    members[at->second].push_back(rank);
  }
  return members;
}

std::vector<int> map_to_grid(const Group& group, const Dims& dims, const std::vector<int>& periods,
                             const bootstrap::NodeMap& nodes) {
  std::vector<int> as_they_are(static_cast<std::size_t>(group.size()));
  std::iota(as_they_are.begin(), as_they_are.end(), 0);
  const auto by_node = members_by_node(group, nodes);
  const bool is_even = std::ranges::all_of(
      by_node, [&](const auto& members) { return members.size() == by_node.front().size(); });
  if (by_node.size() < 2 || !is_even) return as_they_are;
  const BlockSearch search(dims, periods, static_cast<int>(by_node.front().size()));
  if (!search.best()) return as_they_are;
  std::vector<int> placed = in_blocks(by_node, dims, *search.best());
  auto apart = [&](const std::vector<int>& member_at) {
    std::vector<std::uint32_t> node_at;
    for (int member : member_at) node_at.push_back(nodes.node_of(group.at(member).rank));
    return pairs_apart(node_at, dims, periods);
  };
  return apart(placed) < apart(as_they_are) ? placed : as_they_are;
}

}  // namespace shim::sessions
