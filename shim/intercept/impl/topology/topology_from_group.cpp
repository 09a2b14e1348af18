// SPDX-License-Identifier: BSD-3-Clause
// Implements extensions that create communicators with topology from groups (Sessions paper of
// 2016, §3.6). Arguments are those of MPI_Comm_create_from_group, followed by those of the topology
// function.
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/comm/from_group.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"
#include "shim/intercept/impl/topology/topology_arguments.hpp"
#include "shim/intercept/lifetime.hpp"

namespace shim::intercept {
namespace {

using sessions::CommunicatorPtr;
using sessions::FromGroup;

/// Implement the common part of all four; make(FromGroup) makes the communicator.
template <typename Make>
int create(const char* function, MPI_Group handle, const char* tag, MPI_Info info,
           MPI_Errhandler errhandler, MPI_Comm* newcomm, Make make) {
  return run_with_handler(Subject::errhandler(errhandler), function, [&]() -> base::Status {
    FromGroup from;
    SHIM_TRY(clear_output(newcomm));
    SHIM_TRY_ASSIGN(from.handler, comm_handler(errhandler));
    SHIM_TRY_ASSIGN(GroupObject group, get_group(handle));
    SHIM_TRY(check_string_tag(tag));
    SHIM_TRY_ASSIGN(from.info, copy_info(info));
    CommunicatorPtr made;
    from.group = group.group;
    from.tag = tag;
    if (from.group->size() > 0) {
      SHIM_TRY_ASSIGN(from.session, session_of_group(group));
      SHIM_TRY_ASSIGN(made, make(from));
    } else if ((from.session = any_session()) != nullptr) {
      // takes part in the fence of the job (exchange=world_fence)
      SHIM_TRY_ASSIGN(made, sessions::create_from_group(from.session, from.group, from.tag,
                                                        from.info, from.handler));
    }
    SHIM_TRY_ASSIGN(*newcomm, make_comm_handle(std::move(made)));
    return {};
  });
}

}  // namespace

namespace impl {

int Cart_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                           MPI_Errhandler errhandler, int ndims, const int dims[],
                           const int periods[], int reorder, MPI_Comm* comm_cart) {
  return create("MPIX_Cart_create_from_group", group, stringtag, info, errhandler, comm_cart,
                [&](const FromGroup& from) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY_ASSIGN(auto grid, get_cartesian(ndims, dims, periods, reorder));
                  return sessions::cart_create_from_group(from, grid);
                });
}

int Graph_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                            MPI_Errhandler errhandler, int nnodes, const int indx[],
                            const int edges[], int reorder, MPI_Comm* comm_graph) {
  return create("MPIX_Graph_create_from_group", group, stringtag, info, errhandler, comm_graph,
                [&](const FromGroup& from) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY_ASSIGN(auto graph, get_graph(nnodes, indx, edges));
                  return sessions::graph_create_from_group(from, graph, reorder != 0);
                });
}

int Dist_graph_create_adjacent_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                                          MPI_Errhandler errhandler, int indegree,
                                          const int sources[], const int sourceweights[],
                                          int outdegree, const int destinations[],
                                          const int destweights[], int reorder,
                                          MPI_Comm* comm_dist_graph) {
  return create("MPIX_Dist_graph_create_adjacent_from_group", group, stringtag, info, errhandler,
                comm_dist_graph, [&](const FromGroup& from) {
                  auto graph = copy_adjacent(indegree, sources, sourceweights, outdegree,
                                             destinations, destweights);
                  return sessions::dist_graph_create_adjacent_from_group(from, std::move(graph),
                                                                         reorder != 0);
                });
}

int Dist_graph_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                                 MPI_Errhandler errhandler, int n, const int sources[],
                                 const int degrees[], const int destinations[], const int weights[],
                                 int reorder, MPI_Comm* comm_dist_graph) {
  return create("MPIX_Dist_graph_create_from_group", group, stringtag, info, errhandler,
                comm_dist_graph, [&](const FromGroup& from) {
                  auto edges = copy_edges(n, sources, degrees, destinations, weights);
                  return sessions::dist_graph_create_from_group(from, std::move(edges),
                                                                reorder != 0);
                });
}

}  // namespace impl
}  // namespace shim::intercept
