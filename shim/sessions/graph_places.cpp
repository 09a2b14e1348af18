// SPDX-License-Identifier: BSD-3-Clause
// Which process gets which vertex of a graph, so that neighbours share nodes. The vertices are halved again and again, as the nodes
// are, each half grown from a vertex with few neighbours by whatever cuts the least: greedy graph growing (Karypis and Kumar, "A fast
// and high quality multilevel scheme for partitioning irregular graphs", 1998). Everybody computes the same from what everybody knows.
#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/topologies.hpp"

namespace shim::sessions {
namespace {

using Members = std::vector<std::vector<int>>;  ///< of each node

struct Neighbour {
  int vertex;
  std::int64_t weight;
};
using AdjacencyLists = std::vector<std::vector<Neighbour>>;

std::size_t at(int vertex) { return static_cast<std::size_t>(vertex); }

/// Both ways; loops cut nothing.
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
      : neighbours_(neighbours), members_(members), vertices_(neighbours.size()), member_at_(neighbours.size()) {
    std::vector<int> all(neighbours.size());
    std::iota(all.begin(), all.end(), 0);
    place(std::move(all), 0, members.size());
  }
  const std::vector<int>& member_at() const { return member_at_; }

 private:
  struct Vertex {
    int part = 0;
    std::int64_t ties = 0;   ///< weight of the edges to what has been grown
    std::int64_t saves = 0;  ///< what the cut is less by, should this be the next to join
  };

  /// These vertices on the nodes from first to last - 1, which have as many processes.
  void place(std::vector<int> vertices, std::size_t first, std::size_t last) {
    if (last - first == 1) return place_on(members_[first], vertices);
    const std::size_t middle = first + (last - first) / 2;
    std::size_t room = 0;
    for (std::size_t node = first; node < middle; ++node) room += members_[node].size();
    std::vector<int> grown = grow(vertices, room);
    std::erase_if(vertices, [&](int vertex) { return vertices_[at(vertex)].part == parts_; });
    place(std::move(grown), first, middle);
    place(std::move(vertices), middle, last);
  }

  /// So many of the vertices, a part of their own from now on. Of several that save as much the one with the most ties is next, of these
  /// the first.
  std::vector<int> grow(const std::vector<int>& vertices, std::size_t room) {
    const int whole = vertices_[at(vertices.front())].part, grown_part = ++parts_;
    using Candidate = std::tuple<std::int64_t, std::int64_t, int>;  // what it saves, its ties, minus its number
    std::priority_queue<Candidate> candidates;
    for (int number : vertices) {
      Vertex& vertex = vertices_[at(number)];
      vertex.ties = vertex.saves = 0;
      for (const Neighbour& other : neighbours_[at(number)])
        if (vertices_[at(other.vertex)].part == whole) vertex.saves -= other.weight;
      candidates.emplace(vertex.saves, 0, -number);
    }
    std::vector<int> grown;
    while (grown.size() < room) {
      const auto [saves, ties, minus_number] = candidates.top();
      candidates.pop();
      Vertex& next = vertices_[at(-minus_number)];
      if (next.part == grown_part || ties != next.ties) continue;  // a newer candidacy stands for it
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

  /// Whoever is on the node already and has one of the vertices for its rank keeps it.
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

std::vector<int> place_in_graph(const Group& group, const std::vector<Edge>& edges, const bootstrap::NodeMap& nodes) {
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
