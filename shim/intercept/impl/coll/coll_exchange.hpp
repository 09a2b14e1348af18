// SPDX-License-Identifier: BSD-3-Clause
// Implements collectives that exchange messages between explicit sources and destinations. These
// are neighborhood collectives (MPI-4.1 §8.6) and most collectives on intercommunicators (§6.2.2).
// They differ in the peers and in the location of the blocks.
#pragma once

#include "shim/intercept/impl/coll/collective.hpp"
#include "shim/intercept/impl/coll/neighbourhood.hpp"

namespace shim::intercept::collective {

/// Blocks of both sides, in the order of destinations and of sources.
struct ExchangedBlocks {
  std::vector<types::ConstBuffer> send;
  std::vector<types::Buffer> receive;
};

/// Exchange one block with each peer.
/// @param select_peers returns the Neighbourhood of a communicator
/// @param take fills an ExchangedBlocks for given numbers of destinations and sources
template <typename Peers, typename CallMode, typename Take>
base::Status exchange(Peers select_peers, MPI_Comm handle, CallMode call_mode, Take take) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  SHIM_TRY_ASSIGN(Neighbourhood neighbours, select_peers(*comm));
  ExchangedBlocks blocks;
  SHIM_TRY(take(blocks, static_cast<int>(neighbours.destinations.size()),
                static_cast<int>(neighbours.sources.size())));
  return call_mode(comm, handle, messages_between(neighbours, blocks.send, blocks.receive),
                   [](const coll::CollSeq& seq, const Messages& messages) {
                     return coll::exchange(seq, messages.out, messages.in);
                   });
}

/// Send one block to all destinations.
inline auto allgather_blocks(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                             void* recvbuf, Count recvcount, MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(get_copies(blocks.send, sendbuf, sendcount, sendtype, destinations));
    return get_row(blocks.receive, recvbuf, recvcount, recvtype, sources);
  };
}

template <typename C, typename D>
auto allgatherv_blocks(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       const C* recvcounts, const D* displs, MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(get_copies(blocks.send, sendbuf, sendcount, sendtype, destinations));
    return get_blocks(blocks.receive, recvbuf, recvcounts, displs, recvtype, sources, "receive");
  };
}

/// Send a separate block to each destination.
inline auto alltoall_blocks(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                            void* recvbuf, Count recvcount, MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(get_row(blocks.send, sendbuf, sendcount, sendtype, destinations));
    return get_row(blocks.receive, recvbuf, recvcount, recvtype, sources);
  };
}

template <typename C, typename D>
auto alltoallv_blocks(const void* sendbuf, const C* sendcounts, const D* sdispls,
                      MPI_Datatype sendtype, void* recvbuf, const C* recvcounts, const D* rdispls,
                      MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(get_blocks(blocks.send, sendbuf, sendcounts, sdispls, sendtype, destinations, "send"));
    return get_blocks(blocks.receive, recvbuf, recvcounts, rdispls, recvtype, sources, "receive");
  };
}

template <typename C, typename D>
auto alltoallw_blocks(const void* sendbuf, const C* sendcounts, const D* sdispls,
                      const MPI_Datatype* sendtypes, void* recvbuf, const C* recvcounts,
                      const D* rdispls, const MPI_Datatype* recvtypes) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(get_peer_buffers(blocks.send, sendbuf, sendcounts, sdispls, sendtypes, destinations,
                              "send"));
    return get_peer_buffers(blocks.receive, recvbuf, recvcounts, rdispls, recvtypes, sources,
                            "receive");
  };
}

template <typename C, typename D>
auto scatterv_blocks(const void* sendbuf, const C* sendcounts, const D* displs,
                     MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype) {
  return [=](ExchangedBlocks& blocks, int destinations, int sources) -> base::Status {
    SHIM_TRY(get_blocks(blocks.send, sendbuf, sendcounts, displs, sendtype, destinations, "send"));
    return get_row(blocks.receive, recvbuf, recvcount, recvtype, sources);
  };
}

/// Peers of a collective without root on an intercommunicator: all processes of the remote group.
struct OtherGroup {
  base::Result<Neighbourhood> operator()(const sessions::Communicator& comm) const {
    return all_ranks(comm.peers());
  }
};

/// Peers of a gather on an intercommunicator: the remote group sends to the root. `root` as in MPI.
struct ToRoot {
  int root;
  base::Result<Neighbourhood> operator()(const sessions::Communicator& comm) const {
    SHIM_TRY(check_root(comm, root));
    const RootedRole part = part_of(comm, root);
    Neighbourhood found;
    if (part.is_root) found = all_ranks(comm.peers());
    found.destinations.clear();
    if (part.is_other) found.destinations = {root};
    return found;
  }
};
/// Peers of a scatter on an intercommunicator: the root sends to the remote group.
struct FromRoot {
  int root;
  base::Result<Neighbourhood> operator()(const sessions::Communicator& comm) const {
    SHIM_TRY_ASSIGN(Neighbourhood found, ToRoot{root}(comm));
    std::swap(found.sources, found.destinations);
    return found;
  }
};

}  // namespace shim::intercept::collective
