// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/topology/topology_arguments.hpp"

#include <algorithm>
#include <string>

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

base::Result<std::vector<int>> copy_ints(const int* values, int n, const char* what,
                                         ErrorClass negative) {
  if (n < 0)
    return Error(negative,
                 std::string("the number of ") + what + ", " + std::to_string(n) + ", is negative");
  if (values == nullptr && n > 0)
    return Error(ErrorClass::arg, std::string("the array of ") + what + " is a null pointer");
  return std::vector<int>(values, values + n);
}

base::Status put_ints(const std::vector<int>& values, int capacity, int* to, const char* what) {
  if (capacity < 0)
    return Error(ErrorClass::arg, "the array length " + std::to_string(capacity) + " is negative");
  std::size_t count = std::min(values.size(), static_cast<std::size_t>(capacity));
  if (count > 0) SHIM_TRY(check_output(to, what));
  std::copy_n(values.begin(), count, to);
  return {};
}

base::Result<sessions::CartesianArguments> get_cartesian(int ndims, const int* dims,
                                                         const int* periods, int reorder) {
  sessions::CartesianArguments grid;
  SHIM_TRY_ASSIGN(grid.dims, copy_ints(dims, ndims, "dimensions"));
  SHIM_TRY_ASSIGN(grid.periods, copy_ints(periods, ndims, "periods"));
  grid.reorder = reorder != 0;
  return grid;
}

base::Result<sessions::Graph> get_graph(int nnodes, const int* index, const int* edges) {
  sessions::Graph graph;
  SHIM_TRY_ASSIGN(graph.index, copy_ints(index, nnodes, "nodes", ErrorClass::arg));
  const int count = graph.index.empty() ? 0 : graph.index.back();
  SHIM_TRY_ASSIGN(graph.edges, copy_ints(edges, std::max(count, 0), "edges", ErrorClass::arg));
  return graph;
}

namespace {

bool is_unweighted(const int* weights) {
  return weights == abi::unweighted() && weights != nullptr;
}

/// Return one weight for each edge; MPI_WEIGHTS_EMPTY is an array without elements (MPI-4.1
/// §8.5.4).
base::Result<std::vector<int>> copy_weights(const int* weights, std::size_t count,
                                            const char* what) {
  if (count == 0) return std::vector<int>();
  if (weights == abi::weights_empty())
    return Error(ErrorClass::arg, std::string("the ") + what +
                                      " are MPI_WEIGHTS_EMPTY, but there are " +
                                      std::to_string(count) + " edges");
  return copy_ints(weights, static_cast<int>(count), what, ErrorClass::arg);
}

}  // namespace

base::Result<sessions::DistributedGraph> copy_adjacent(int indegree, const int* sources,
                                                       const int* source_weights, int outdegree,
                                                       const int* destinations,
                                                       const int* destination_weights) {
  sessions::DistributedGraph graph;
  SHIM_TRY_ASSIGN(graph.sources, copy_ints(sources, indegree, "sources", ErrorClass::arg));
  SHIM_TRY_ASSIGN(graph.destinations,
                  copy_ints(destinations, outdegree, "destinations", ErrorClass::arg));
  if (is_unweighted(source_weights) != is_unweighted(destination_weights))
    return Error(ErrorClass::arg,
                 "one of the two arrays of weights is MPI_UNWEIGHTED, the other is not");
  graph.is_weighted = !is_unweighted(source_weights);
  if (!graph.is_weighted) return graph;
  SHIM_TRY_ASSIGN(graph.source_weights,
                  copy_weights(source_weights, graph.sources.size(), "weights of sources"));
  SHIM_TRY_ASSIGN(
      graph.destination_weights,
      copy_weights(destination_weights, graph.destinations.size(), "weights of destinations"));
  return graph;
}

base::Result<sessions::EdgeList> copy_edges(int n, const int* sources, const int* degrees,
                                            const int* destinations, const int* weights) {
  sessions::EdgeList edges;
  SHIM_TRY_ASSIGN(edges.sources, copy_ints(sources, n, "sources", ErrorClass::arg));
  SHIM_TRY_ASSIGN(edges.degrees, copy_ints(degrees, n, "degrees", ErrorClass::arg));
  std::int64_t count = 0;
  for (int degree : edges.degrees) {
    if (degree < 0)
      return Error(ErrorClass::arg, "the degree " + std::to_string(degree) + " is negative");
    count += degree;
  }
  if (count > 0x7fffffff)
    return Error(ErrorClass::arg, "there are more edges than an int can count");
  SHIM_TRY_ASSIGN(edges.destinations, copy_ints(destinations, static_cast<int>(count),
                                                "destinations", ErrorClass::arg));
  edges.is_weighted = !is_unweighted(weights);
  if (edges.is_weighted) {
    SHIM_TRY_ASSIGN(edges.weights, copy_weights(weights, edges.destinations.size(), "weights"));
  }
  return edges;
}

}  // namespace shim::intercept
