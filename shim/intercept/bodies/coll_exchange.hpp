// SPDX-License-Identifier: BSD-3-Clause
// Collectives that are one exchange of messages between processes that name each other: those of neighbourhoods (MPI-4.1 §8.6), and
// most of those of intercommunicators (§6.2.2). They differ in whom a process talks to, and in where the blocks of its buffers lie.
#pragma once

#include "shim/intercept/bodies/collective.hpp"
#include "shim/intercept/bodies/neighbourhood.hpp"

namespace shim::intercept::collective {

/// The blocks of both sides, in the order of the destinations and of the sources.
struct ExchangedBlocks {
  std::vector<types::ConstBuffer> send;
  std::vector<types::Buffer> receive;
};

/// @param whom gives the Neighbourhood of a communicator
/// @param take fills an ExchangedBlocks for so many destinations and sources
template <typename Whom, typename Way, typename Take>
base::Status exchange(Whom whom, MPI_Comm handle, Way way, Take take) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  SHIM_TRY_ASSIGN(Neighbourhood neighbours, whom(*comm));
  ExchangedBlocks blocks;
  SHIM_TRY(take(blocks, static_cast<int>(neighbours.destinations.size()), static_cast<int>(neighbours.sources.size())));
  return way(comm, handle, messages_between(neighbours, blocks.send, blocks.receive),
             [](const coll::Turn& turn, const Messages& messages) { return coll::exchange(turn, messages.out, messages.in); });
}

/// The same block to all.
inline auto allgather_blocks(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                             MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(take_copies(blocks.send, sendbuf, sendcount, sendtype, destinations));
    return take_row(blocks.receive, recvbuf, recvcount, recvtype, sources);
  };
}

template <typename C, typename D>
auto allgatherv_blocks(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, const C* recvcounts,
                       const D* displs, MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(take_copies(blocks.send, sendbuf, sendcount, sendtype, destinations));
    return take_blocks(blocks.receive, recvbuf, recvcounts, displs, recvtype, sources, "receive");
  };
}

/// Each its own.
inline auto alltoall_blocks(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                            MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(take_row(blocks.send, sendbuf, sendcount, sendtype, destinations));
    return take_row(blocks.receive, recvbuf, recvcount, recvtype, sources);
  };
}

template <typename C, typename D>
auto alltoallv_blocks(const void* sendbuf, const C* sendcounts, const D* sdispls, MPI_Datatype sendtype, void* recvbuf,
                      const C* recvcounts, const D* rdispls, MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(take_blocks(blocks.send, sendbuf, sendcounts, sdispls, sendtype, destinations, "send"));
    return take_blocks(blocks.receive, recvbuf, recvcounts, rdispls, recvtype, sources, "receive");
  };
}

template <typename C, typename D>
auto alltoallw_blocks(const void* sendbuf, const C* sendcounts, const D* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                      const C* recvcounts, const D* rdispls, const MPI_Datatype* recvtypes) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(take_peers(blocks.send, sendbuf, sendcounts, sdispls, sendtypes, destinations, "send"));
    return take_peers(blocks.receive, recvbuf, recvcounts, rdispls, recvtypes, sources, "receive");
  };
}

template <typename C, typename D>
auto scatterv_blocks(const void* sendbuf, const C* sendcounts, const D* displs, MPI_Datatype sendtype, void* recvbuf,
                     Count recvcount, MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(take_blocks(blocks.send, sendbuf, sendcounts, displs, sendtype, destinations, "send"));
    return take_row(blocks.receive, recvbuf, recvcount, recvtype, sources);
  };
}

/// All processes of the other group.
struct OtherGroup {
  base::Result<Neighbourhood> operator()(const sessions::Communicator& comm) const { return everybody(comm.peers()); }
};

/// From the other group to the root, or from the root to the other group: `root` as MPI has it on intercommunicators.
struct ToRoot {
  int root;
  base::Result<Neighbourhood> operator()(const sessions::Communicator& comm) const {
    SHIM_TRY(check_root(comm, root));
    const Part part = part_of(comm, root);
    Neighbourhood found;
    if (part.is_root) found = everybody(comm.peers());
    found.destinations.clear();
    if (part.is_other) found.destinations = {root};
    return found;
  }
};
struct FromRoot {
  int root;
  base::Result<Neighbourhood> operator()(const sessions::Communicator& comm) const {
    SHIM_TRY_ASSIGN(Neighbourhood found, ToRoot{root}(comm));
    std::swap(found.sources, found.destinations);
    return found;
  }
};

}  // namespace shim::intercept::collective
