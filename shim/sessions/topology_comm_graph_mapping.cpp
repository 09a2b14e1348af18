// SPDX-License-Identifier: BSD-3-Clause
// Maps graph vertices to processes so that neighbors share nodes. Vertices and nodes are halved
// recursively; each half grows from a vertex with few neighbors by the vertex that cuts the least:
// greedy graph growing (Karypis and Kumar, "A fast and high quality multilevel scheme for
// partitioning irregular graphs", 1998). Every member computes an equal result from common data.
#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions {
namespace {

using Members = std::vector<std::vector<int>>;  ///< by node

struct Neighbour {
  int vertex;
  std::int64_t weight;
};
using AdjacencyLists = std::vector<std::vector<Neighbour>>;

std::size_t at(int vertex) { return static_cast<std::size_t>(vertex); }

/// Return both directions of all edges; loops cut nothing and are omitted.
AdjacencyLists adjacency_of(const std::vector<Edge>& edges, std::size_t vertices) {
  AdjacencyLists neighbours(vertices);
  for (const Edge& edge : edges) {
    if (edge.from == edge.to) continue;
    neighbours[at(edge.from)].push_back({edge.to, edge.weight});
    neighbours[at(edge.to)].push_back({edge.from, edge.weight});
  }
  return neighbours;
}

class Halving {
 public:
  Halving(const AdjacencyLists& neighbours, const Members& members)
      : neighbours_(neighbours),
        members_(members),
        vertices_(neighbours.size()),
        member_at_(neighbours.size()) {
    std::vector<int> all(neighbours.size());
    std::iota(all.begin(), all.end(), 0);
    assign(std::move(all), 0, members.size());
  }
  const std::vector<int>& member_at() const { return member_at_; }

 private:
  struct Vertex {
    int part = 0;
    std::int64_t ties = 0;   ///< weight of the edges to the grown part
    std::int64_t saves = 0;  ///< reduction of the cut if this vertex joins next
  };

  /// Assign the vertices to the nodes first … last - 1, which have one process per vertex.
  void assign(std::vector<int> vertices, std::size_t first, std::size_t last) {
    if (last - first == 1) return place_on(members_[first], vertices);
    const std::size_t middle = first + (last - first) / 2;
    std::size_t capacity = 0;
    for (std::size_t node = first; node < middle; ++node) capacity += members_[node].size();
    std::vector<int> grown = grow(vertices, capacity);
    std::erase_if(vertices, [&](int vertex) { return vertices_[at(vertex)].part == parts_; });
    assign(std::move(grown), first, middle);
    assign(std::move(vertices), middle, last);
  }

  /// Grow a new part of `room` vertices. Of several vertices with equal savings, the one with the
  /// most edges is next, then the first.
  std::vector<int> grow(const std::vector<int>& vertices, std::size_t capacity) {
    const int whole = vertices_[at(vertices.front())].part, grown_part = ++parts_;
    using RankPlacement =
        std::tuple<std::int64_t, std::int64_t, int>;  // savings, edges, minus its number
    std::priority_queue<RankPlacement> candidates;
    for (int number : vertices) {
      Vertex& vertex = vertices_[at(number)];
      vertex.ties = vertex.saves = 0;
      for (const Neighbour& other : neighbours_[at(number)])
        if (vertices_[at(other.vertex)].part == whole) vertex.saves -= other.weight;
      candidates.emplace(vertex.saves, 0, -number);
    }
    std::vector<int> grown;
    while (grown.size() < capacity) {
      const auto [saves, ties, minus_number] = candidates.top();
      candidates.pop();
      Vertex& next = vertices_[at(-minus_number)];
      if (next.part == grown_part || ties != next.ties)
        continue;  // superseded by a newer candidate entry
      next.part = grown_part;
      grown.push_back(-minus_number);
      for (const Neighbour& other : neighbours_[at(-minus_number)]) {
        Vertex& neighbour = vertices_[at(other.vertex)];
        if (neighbour.part != whole) continue;
        neighbour.ties += other.weight;
        neighbour.saves += 2 * other.weight;
        candidates.emplace(neighbour.saves, neighbour.ties, -other.vertex);
      }
    }
    return grown;
  }

  /// Place vertices on a node's members; a member whose rank is one of the vertices keeps it.
  void place_on(std::vector<int> members, std::vector<int>& vertices) {
    std::ranges::sort(vertices);
    auto settles = [&](int vertex) {
      if (std::erase(members, vertex) == 0) return false;
      member_at_[at(vertex)] = vertex;
      return true;
    };
    std::erase_if(vertices, settles);
    for (std::size_t i = 0; i < vertices.size(); ++i) member_at_[at(vertices[i])] = members[i];
  }

  const AdjacencyLists& neighbours_;
  const Members& members_;
  std::vector<Vertex> vertices_;
  std::vector<int> member_at_;
  int parts_ = 0;
};

}  // namespace

std::vector<int> map_to_graph(const Group& group, const std::vector<Edge>& edges,
                              const bootstrap::NodeMap& nodes) {
  std::vector<int> as_they_are(static_cast<std::size_t>(group.size()));
  std::iota(as_they_are.begin(), as_they_are.end(), 0);
  const Members members = members_by_node(group, nodes);
  if (members.size() < 2) return as_they_are;
  auto cut = [&](const std::vector<int>& member_at) {
    auto node = [&](int vertex) { return nodes.node_of(group.at(member_at[at(vertex)]).rank); };
    std::int64_t weight = 0;
    for (const Edge& edge : edges) weight += node(edge.from) != node(edge.to) ? edge.weight : 0;
    return weight;
  };
  const AdjacencyLists neighbours = adjacency_of(edges, as_they_are.size());
  const Halving halving(neighbours, members);
  return cut(halving.member_at()) < cut(as_they_are) ? halving.member_at() : as_they_are;
}

}  // namespace shim::sessions
