// SPDX-License-Identifier: BSD-3-Clause
// Tests the mapping of processes to grids and graphs, and graph neighbours.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions {
namespace {

using Dims = std::vector<int>;

bootstrap::NodeMap map_of(const std::vector<std::uint32_t>& node_of) {
  std::vector<std::string> hosts;
  for (std::uint32_t node = 0; node <= *std::ranges::max_element(node_of); ++node)
    hosts.push_back("n" + std::to_string(node));
  return bootstrap::NodeMap(hosts, node_of);
}

GroupPtr world_of(std::size_t size) {
  std::vector<std::uint32_t> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0u);
  return Group::of_ranks(ranks);
}

/// Return the number of pairs of grid neighbours on different nodes.
int pairs_apart(const std::vector<int>& member_at, const std::vector<std::uint32_t>& node_of,
                int rows, int columns, bool wraps) {
  auto node = [&](int row, int column) {
    return node_of[static_cast<std::size_t>(
        member_at[static_cast<std::size_t>(row % rows * columns + column % columns)])];
  };
  int apart = 0;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      if (wraps || row + 1 < rows) apart += node(row, column) != node(row + 1, column);
      if (wraps || column + 1 < columns) apart += node(row, column) != node(row, column + 1);
    }
  return apart;
}

TEST(MapToGrid, NeighboursShareNodes) {
  const std::vector<std::uint32_t> node_of = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  const auto placed = map_to_grid(*world_of(16), {4, 4}, {0, 0}, map_of(node_of));
  EXPECT_EQ(pairs_apart(placed, node_of, 4, 4, false), 8) << "four blocks of two by two";
  std::vector<int> unchanged(16);
  std::iota(unchanged.begin(), unchanged.end(), 0);
  EXPECT_EQ(pairs_apart(unchanged, node_of, 4, 4, false), 12);
}

TEST(MapToGrid, IsAPermutationForAnyNodes) {
  const std::vector<std::vector<std::uint32_t>> maps = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                                        {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2},
                                                        {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1},
                                                        {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1},
                                                        {5, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5}};
  const std::vector<Dims> grids = {{12}, {3, 4}, {4, 3}, {2, 6}, {1, 12, 1}, {2, 2, 3}, {12, 1}};
  for (const auto& node_of : maps) {
    for (const auto& dims : grids) {
      for (int wraps : {0, 1}) {
        const auto placed = map_to_grid(*world_of(12), dims, std::vector<int>(dims.size(), wraps),
                                        map_of(node_of));
        EXPECT_EQ(std::set<int>(placed.begin(), placed.end()).size(), 12u);
        EXPECT_EQ(*std::ranges::max_element(placed), 11);
        if (dims.size() != 2) continue;
        std::vector<int> unchanged(12);
        std::iota(unchanged.begin(), unchanged.end(), 0);
        EXPECT_LE(pairs_apart(placed, node_of, dims[0], dims[1], wraps != 0),
                  pairs_apart(unchanged, node_of, dims[0], dims[1], wraps != 0));
      }
    }
  }
}

TEST(MapToGrid, KeepsTheOrderIfNothingImproves) {
  const auto one_node = map_to_grid(*world_of(4), {2, 2}, {0, 0}, map_of({0, 0, 0, 0}));
  EXPECT_EQ(one_node, (std::vector<int>{0, 1, 2, 3}));
  const auto rows = map_to_grid(*world_of(4), {2, 2}, {0, 0}, map_of({0, 0, 1, 1}));
  EXPECT_EQ(rows, (std::vector<int>{0, 1, 2, 3}));
  const auto uneven = map_to_grid(*world_of(4), {2, 2}, {0, 0}, map_of({0, 1, 0, 0}));
  EXPECT_EQ(uneven, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(map_to_grid(*world_of(1), {}, {}, map_of({0})), (std::vector<int>{0}));
}

std::vector<Edge> grid_edges(int rows, int columns) {
  std::vector<Edge> edges;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const int here = row * columns + column;
      if (row + 1 < rows) edges.push_back({here, here + columns, 1});
      if (column + 1 < columns) edges.push_back({here + 1, here, 1});
    }
  return edges;
}

std::int64_t cut_of(const std::vector<Edge>& edges, const std::vector<int>& member_at,
                    const std::vector<std::uint32_t>& node_of) {
  std::int64_t cut = 0;
  auto node = [&](int vertex) {
    return node_of[static_cast<std::size_t>(member_at[static_cast<std::size_t>(vertex)])];
  };
  for (const Edge& edge : edges) cut += node(edge.from) != node(edge.to) ? edge.weight : 0;
  return cut;
}

TEST(MapToGraph, NeighboursShareNodes) {
  const std::vector<std::uint32_t> in_blocks = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  const auto square = grid_edges(4, 4);
  EXPECT_EQ(cut_of(square, map_to_graph(*world_of(16), square, map_of(in_blocks)), in_blocks), 8)
      << "four blocks of two by two";
  const std::vector<std::uint32_t> in_turn = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  const auto chain = grid_edges(1, 9);
  EXPECT_EQ(cut_of(chain, map_to_graph(*world_of(9), chain, map_of(in_turn)), in_turn), 2)
      << "three pieces of the chain";
}

TEST(MapToGraph, HeavyEdgesCount) {
  // A ring whose heavy edges are between nodes if the order is unchanged.
  const std::vector<std::uint32_t> node_of = {0, 0, 1, 1};
  const std::vector<Edge> ring = {{0, 1, 1}, {1, 2, 10}, {2, 3, 1}, {3, 0, 10}};
  EXPECT_EQ(cut_of(ring, map_to_graph(*world_of(4), ring, map_of(node_of)), node_of), 2);
}

TEST(MapToGraph, KeepsTheOrderIfNothingImproves) {
  const std::vector<int> unchanged = {0, 1, 2, 3};
  EXPECT_EQ(map_to_graph(*world_of(4), grid_edges(2, 2), map_of({0, 0, 0, 0})), unchanged);
  EXPECT_EQ(map_to_graph(*world_of(4), grid_edges(1, 4), map_of({0, 0, 1, 1})), unchanged);
  EXPECT_EQ(map_to_graph(*world_of(4), {}, map_of({0, 1, 0, 1})), unchanged);
  EXPECT_EQ(map_to_graph(*world_of(4), {{2, 2, 9}, {1, 1, 9}}, map_of({0, 1, 0, 1})), unchanged)
      << "loops do not count";
}

TEST(MapToGraph, IsAPermutationAndNeverWorse) {
  for (unsigned seed = 1; seed < 60; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
    const unsigned size = 1 + random() % 40;
    std::vector<std::uint32_t> node_of(size);
    for (auto& node : node_of) node = random() % (1 + seed % 7);
    std::vector<Edge> edges(random() % 200);
    for (Edge& edge : edges) edge = {below(size), below(size), below(5)};
    const auto placed = map_to_graph(*world_of(size), edges, map_of(node_of));
    std::vector<int> unchanged(size);
    std::iota(unchanged.begin(), unchanged.end(), 0);
    EXPECT_TRUE(std::ranges::is_permutation(placed, unchanged)) << "seed " << seed;
    EXPECT_LE(cut_of(edges, placed, node_of), cut_of(edges, unchanged, node_of)) << "seed " << seed;
  }
}

TEST(GraphCheck, RejectsInvalidGraphs) {
  EXPECT_TRUE(check_graph({{1, 2}, {1, 0}}, 2));
  EXPECT_TRUE(check_graph({{}, {}}, 2));
  EXPECT_TRUE(check_graph({{2, 2}, {0, 0}}, 2)) << "loops and repeated edges are allowed";
  EXPECT_EQ(check_graph({{1, 2, 3}, {0, 0, 0}}, 2).error().error_class(), base::ErrorClass::arg);
  EXPECT_EQ(check_graph({{2, 1}, {0, 0}}, 2).error().error_class(), base::ErrorClass::arg);
  EXPECT_EQ(check_graph({{1, 2}, {0, 2}}, 2).error().error_class(), base::ErrorClass::arg);
  EXPECT_EQ(check_graph({{1, 2}, {0, -1}}, 2).error().error_class(), base::ErrorClass::arg);
  const Graph graph{{2, 3}, {1, 0, 0}};
  EXPECT_EQ(graph.neighbours(0), (std::vector<int>{1, 0}));
  EXPECT_EQ(graph.neighbours(1), (std::vector<int>{0}));
}

}  // namespace
}  // namespace shim::sessions
