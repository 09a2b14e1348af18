// SPDX-License-Identifier: BSD-3-Clause
// Makes communicators with a graph of which each member knows a part (MPI-4.1 §8.5.4).
#include <algorithm>
#include <array>
#include <cstdint>

#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/topology_comm.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

base::Status check_ranks(const std::vector<int>& ranks, int size, const char* what) {
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] < 0 || ranks[i] >= size)
      return Error(ErrorClass::rank, std::string(what) + "[" + std::to_string(i) + "] is " +
                                         std::to_string(ranks[i]) + ", not in 0…" +
                                         std::to_string(size - 1));
  return {};
}

base::Status check_weights(const std::vector<int>& weights) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] < 0)
      return Error(ErrorClass::arg, "weight " + std::to_string(i) + " is negative (" +
                                        std::to_string(weights[i]) + ")");
  return {};
}

base::Status check(const DistributedGraph& graph, int size) {
  SHIM_TRY(check_ranks(graph.sources, size, "sources"));
  SHIM_TRY(check_ranks(graph.destinations, size, "destinations"));
  SHIM_TRY(check_weights(graph.source_weights));
  return check_weights(graph.destination_weights);
}

base::Status check(const EdgeList& edges, int size) {
  SHIM_TRY(check_ranks(edges.sources, size, "sources"));
  SHIM_TRY(check_ranks(edges.destinations, size, "destinations"));
  return check_weights(edges.weights);
}

/// Edge as sent to one of its ends. Messages are arrays of int.
struct EdgeEnd {
  int other = 0;  ///< rank at the other end
  int weight = 0;
  int is_source = 0;  ///< nonzero if the receiver is the edge's source and `other` its destination
};
constexpr std::int64_t kInts = sizeof(EdgeEnd) / sizeof(int);

/// Return the edge ends to send, by rank.
std::vector<std::vector<EdgeEnd>> ends_by_rank(const EdgeList& edges, int size) {
  std::vector<std::vector<EdgeEnd>> ends(static_cast<std::size_t>(size));
  std::size_t next = 0;
  for (std::size_t i = 0; i < edges.sources.size(); ++i) {
    for (int n = 0; n < edges.degrees[i]; ++n, ++next) {
      const int source = edges.sources[i], destination = edges.destinations[next];
      const int weight = edges.is_weighted ? edges.weights[next] : 1;
      ends[static_cast<std::size_t>(source)].push_back({destination, weight, 1});
      ends[static_cast<std::size_t>(destination)].push_back({source, weight, 0});
    }
  }
  return ends;
}

/// Counts and displacements in ints.
struct IntBlocks {
  std::vector<std::int64_t> counts, displacements;
  std::int64_t total = 0;
  void add(std::int64_t ends) {
    counts.push_back(ends * kInts);
    displacements.push_back(total);
    total += ends * kInts;
  }
  coll::Blocks blocks() const { return {counts, displacements}; }
};

/// Exchange the number of ends per member; -1 from a member with invalid arguments, which sends it
/// to all.
base::Result<std::vector<std::int64_t>> exchange_counts(Communicator& comm,
                                                        const std::vector<std::int64_t>& own) {
  const types::Type& number = *types::find_predefined("MPI_INT64_T");
  std::vector<std::int64_t> theirs(own.size());
  SHIM_TRY(coll::run(comm.coll(), coll::alltoall(comm.coll(), {own.data(), 1, &number},
                                                 {theirs.data(), 1, &number})));
  return theirs;
}

/// Exchange the ends of this member's edges, in the order of the sending ranks. Collective.
base::Result<std::vector<EdgeEnd>> exchange_ends(Communicator& comm,
                                                 const std::vector<std::vector<EdgeEnd>>& by_rank,
                                                 const std::vector<std::int64_t>& incoming) {
  std::vector<EdgeEnd> outgoing;
  IntBlocks send, receive;
  for (const auto& ends : by_rank) {
    outgoing.insert(outgoing.end(), ends.begin(), ends.end());
    send.add(static_cast<std::int64_t>(ends.size()));
  }
  for (std::int64_t count : incoming) receive.add(count);
  const types::Type& number = *types::find_predefined("MPI_INT");
  std::vector<EdgeEnd> arrived(static_cast<std::size_t>(receive.total / kInts));
  SHIM_TRY(
      coll::run(comm.coll(), coll::alltoallv(comm.coll(), outgoing.data(), send.blocks(), &number,
                                             arrived.data(), receive.blocks(), number)));
  return arrived;
}

/// Return this member's part of the graph. Collective. An error at one member is an error at all.
base::Result<DistributedGraph> gather_own(Communicator& comm, base::Result<EdgeList> given) {
  EdgeList edges;
  base::Status checked;
  if (given)
    edges = *std::move(given);
  else
    checked = std::move(given).error();
  if (checked) checked = check(edges, comm.size());
  std::vector<std::vector<EdgeEnd>> by_rank(static_cast<std::size_t>(comm.size()));
  if (checked) by_rank = ends_by_rank(edges, comm.size());
  std::vector<std::int64_t> counts;
  for (const auto& ends : by_rank)
    counts.push_back(checked ? static_cast<std::int64_t>(ends.size()) : -1);
  SHIM_TRY_ASSIGN(std::vector<std::int64_t> incoming, exchange_counts(comm, counts));
  SHIM_TRY(std::move(checked));
  if (auto wrong = std::ranges::find(incoming, -1); wrong != incoming.end())
    return Error(ErrorClass::arg,
                 "rank " + std::to_string(wrong - incoming.begin()) + " passed invalid edges");
  SHIM_TRY_ASSIGN(std::vector<EdgeEnd> ends, exchange_ends(comm, by_rank, incoming));
  DistributedGraph graph;
  graph.is_weighted = edges.is_weighted;
  for (const EdgeEnd& end : ends) {
    (end.is_source != 0 ? graph.destinations : graph.sources).push_back(end.other);
    if (edges.is_weighted)
      (end.is_source != 0 ? graph.destination_weights : graph.source_weights).push_back(end.weight);
  }
  return graph;
}

/// All members' parts of the graph, by rank.
class WholeGraph {
 public:
  /// Gather all parts. Collective.
  static base::Result<WholeGraph> gather(Communicator& comm, const DistributedGraph& own) {
    const std::array<std::int64_t, kFields> lengths = {
        static_cast<std::int64_t>(own.sources.size()),
        static_cast<std::int64_t>(own.destinations.size()), own.is_weighted};
    std::vector<int> ints;
    for (const auto* list :
         {&own.sources, &own.source_weights, &own.destinations, &own.destination_weights})
      ints.insert(ints.end(), list->begin(), list->end());
    WholeGraph whole;
    whole.lengths_.resize(kFields * static_cast<std::size_t>(comm.size()));
    const types::Type& length = *types::find_predefined("MPI_INT64_T");
    SHIM_TRY(coll::run(comm.coll(), coll::allgather(comm.coll(), {lengths.data(), kFields, &length},
                                                    {whole.lengths_.data(), kFields, &length})));
    std::vector<std::int64_t> counts;
    for (int rank = 0; rank < comm.size(); ++rank) {
      counts.push_back(whole.length(rank));
      whole.begins_.push_back(whole.begins_.back() + counts.back());
    }
    whole.ints_.resize(static_cast<std::size_t>(whole.begins_.back()));
    const types::Type& number = *types::find_predefined("MPI_INT");
    SHIM_TRY(coll::run(
        comm.coll(),
        coll::allgatherv(comm.coll(), {ints.data(), ints.size(), &number}, whole.ints_.data(),
                         {counts, std::span(whole.begins_).first(counts.size())}, number)));
    return whole;
  }

  DistributedGraph part(int rank) const {
    auto next = ints_.begin() + begins_[static_cast<std::size_t>(rank)];
    auto take = [&next](std::int64_t count) {
      next += count;
      return std::vector<int>(next - count, next);
    };
    DistributedGraph part;
    part.is_weighted = is_weighted(rank);
    part.sources = take(in(rank));
    if (part.is_weighted) part.source_weights = take(in(rank));
    part.destinations = take(out(rank));
    if (part.is_weighted) part.destination_weights = take(out(rank));
    return part;
  }

  /// Return each edge once, as its source knows it.
  std::vector<Edge> edges() const {
    std::vector<Edge> edges;
    for (int rank = 0; rank < static_cast<int>(lengths_.size() / kFields); ++rank) {
      const DistributedGraph from = part(rank);
      for (std::size_t i = 0; i < from.destinations.size(); ++i)
        edges.push_back(
            {rank, from.destinations[i], from.is_weighted ? from.destination_weights[i] : 1});
    }
    return edges;
  }

 private:
  static constexpr std::size_t kFields = 3;
  WholeGraph() = default;
  std::int64_t field(int rank, std::size_t number) const {
    return lengths_[kFields * static_cast<std::size_t>(rank) + number];
  }
  std::int64_t in(int rank) const { return field(rank, 0); }
  std::int64_t out(int rank) const { return field(rank, 1); }
  bool is_weighted(int rank) const { return field(rank, 2) != 0; }
  std::int64_t length(int rank) const {
    return (in(rank) + out(rank)) * (is_weighted(rank) ? 2 : 1);
  }

  std::vector<std::int64_t> lengths_;       ///< per member: sources, destinations, 1 if weighted
  std::vector<std::int64_t> begins_ = {0};  ///< per member: offset in ints_
  std::vector<int> ints_;  ///< per member: sources, their weights, destinations, their weights
};

/// Make a child of the communicator whose ranks place neighbors close to each other. Collective.
base::Result<CommunicatorPtr> reordered(const CommunicatorPtr& comm, const DistributedGraph& own) {
  SHIM_TRY_ASSIGN(const WholeGraph whole, WholeGraph::gather(*comm, own));
  const auto member_at = map_to_graph(*comm->group(), whole.edges(),
                                      comm->process().bootstrap().node_map());
  SHIM_TRY_ASSIGN(GroupPtr placed, include(*comm->group(), member_at));
  SHIM_TRY_ASSIGN(CommunicatorPtr made, derive(comm, placed));
  made->set_topology(whole.part(made->rank()));
  return made;
}

bool spans_nodes(const Communicator& comm) {
  return members_by_node(*comm.group(), comm.process().bootstrap().node_map()).size() > 1;
}

/// Attach a graph to a new communicator that no other code uses yet.
base::Result<CommunicatorPtr> with_graph(CommunicatorPtr made, DistributedGraph own, bool reorder) {
  if (!reorder || !spans_nodes(*made)) {
    made->set_topology(std::move(own));
    return made;
  }
  SHIM_TRY_ASSIGN(CommunicatorPtr placed, reordered(made, own));
  SHIM_TRY(placed->adopt_hints(made->info()));
  return placed;
}

/// One member's part; empty if its arguments are invalid, so that the others can continue.
struct MemberEdges {
  DistributedGraph graph;
  base::Status status;
};
MemberEdges checked_part(base::Result<DistributedGraph> given, int size) {
  if (!given) return {{}, std::move(given).error()};
  base::Status status = check(*given, size);
  if (!status) return {{}, std::move(status)};
  return {*std::move(given), {}};
}

}  // namespace

base::Result<CommunicatorPtr> dist_graph_create_adjacent(const CommunicatorPtr& parent,
                                                         base::Result<DistributedGraph> given,
                                                         bool reorder) {
  MemberEdges checked = checked_part(std::move(given), parent->size());
  auto made = reorder && spans_nodes(*parent) ? reordered(parent, checked.graph)
                                              : derive(parent, parent->group());
  SHIM_TRY(std::move(checked.status));
  if (made && !(*made)->distributed_graph()) (*made)->set_topology(std::move(checked.graph));
  return made;
}

base::Result<CommunicatorPtr> dist_graph_create(const CommunicatorPtr& parent,
                                                base::Result<EdgeList> edges, bool reorder) {
  SHIM_TRY_ASSIGN(DistributedGraph own, gather_own(*parent, std::move(edges)));
  return dist_graph_create_adjacent(parent, std::move(own), reorder);
}

base::Result<CommunicatorPtr> dist_graph_create_adjacent_from_group(
    const FromGroup& from, base::Result<DistributedGraph> given, bool reorder) {
  const TopologyOfGroup topology{"distributed graph, adjacent", from.group};
  SHIM_TRY_ASSIGN(CommunicatorPtr made, create_from_group(from.session, from.group, from.tag,
                                                          from.info, from.handler, &topology));
  if (!made) return made;
  MemberEdges checked = checked_part(std::move(given), made->size());
  auto placed = with_graph(std::move(made), std::move(checked.graph), reorder);
  SHIM_TRY(std::move(checked.status));
  return placed;
}

base::Result<CommunicatorPtr> dist_graph_create_from_group(const FromGroup& from,
                                                           base::Result<EdgeList> edges,
                                                           bool reorder) {
  const TopologyOfGroup topology{"distributed graph", from.group};
  SHIM_TRY_ASSIGN(CommunicatorPtr made, create_from_group(from.session, from.group, from.tag,
                                                          from.info, from.handler, &topology));
  if (!made) return made;
  SHIM_TRY_ASSIGN(DistributedGraph own, gather_own(*made, std::move(edges)));
  return with_graph(std::move(made), std::move(own), reorder);
}

}  // namespace shim::sessions
