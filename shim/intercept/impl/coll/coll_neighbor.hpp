// SPDX-License-Identifier: BSD-3-Clause
// Implements neighborhood collectives (MPI-4.1 §8.6).
#pragma once

#include "shim/intercept/impl/coll/coll_exchange.hpp"

namespace shim::intercept::collective {

/// Neighbours of a process in its communicator's topology.
struct Neighborhood {
  base::Result<Neighbourhood> operator()(const sessions::Communicator& comm) const {
    return neighbourhood_of(comm);
  }
};

template <typename CallMode>
base::Status neighbor_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                                MPI_Comm comm, CallMode call_mode) {
  return exchange(Neighborhood(), comm, call_mode,
                  allgather_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

template <typename C, typename D, typename CallMode>
base::Status neighbor_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                 void* recvbuf, const C* recvcounts, const D* displs,
                                 MPI_Datatype recvtype, MPI_Comm comm, CallMode call_mode) {
  return exchange(
      Neighborhood(), comm, call_mode,
      allgatherv_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

template <typename CallMode>
base::Status neighbor_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                               CallMode call_mode) {
  return exchange(Neighborhood(), comm, call_mode,
                  alltoall_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

template <typename C, typename D, typename CallMode>
base::Status neighbor_alltoallv(const void* sendbuf, const C* sendcounts, const D* sdispls,
                                MPI_Datatype sendtype, void* recvbuf, const C* recvcounts,
                                const D* rdispls, MPI_Datatype recvtype, MPI_Comm comm,
                                CallMode call_mode) {
  return exchange(Neighborhood(), comm, call_mode,
                  alltoallv_blocks(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                   rdispls, recvtype));
}

template <typename C, typename D, typename CallMode>
base::Status neighbor_alltoallw(const void* sendbuf, const C* sendcounts, const D* sdispls,
                                const MPI_Datatype* sendtypes, void* recvbuf, const C* recvcounts,
                                const D* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm,
                                CallMode call_mode) {
  return exchange(Neighborhood(), comm, call_mode,
                  alltoallw_blocks(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                   rdispls, recvtypes));
}

}  // namespace shim::intercept::collective
