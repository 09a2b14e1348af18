// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives: MPI-4.1 §8.6.
#pragma once

#include "shim/intercept/bodies/coll_exchange.hpp"

namespace shim::intercept::collective {

/// Whom the processes of a topology talk to.
struct Topology {
  base::Result<Neighbourhood> operator()(const sessions::Communicator& comm) const { return neighbourhood_of(comm); }
};

template <typename Way>
base::Status neighbor_allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm, Way way) {
  return exchange(Topology(), comm, way, allgather_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

template <typename C, typename D, typename Way>
base::Status neighbor_allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, const C* recvcounts,
                                 const D* displs, MPI_Datatype recvtype, MPI_Comm comm, Way way) {
  return exchange(Topology(), comm, way, allgatherv_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}

template <typename Way>
base::Status neighbor_alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                               MPI_Datatype recvtype, MPI_Comm comm, Way way) {
  return exchange(Topology(), comm, way, alltoall_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}

template <typename C, typename D, typename Way>
base::Status neighbor_alltoallv(const void* sendbuf, const C* sendcounts, const D* sdispls, MPI_Datatype sendtype, void* recvbuf,
                                const C* recvcounts, const D* rdispls, MPI_Datatype recvtype, MPI_Comm comm, Way way) {
  return exchange(Topology(), comm, way,
                  alltoallv_blocks(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}

template <typename C, typename D, typename Way>
base::Status neighbor_alltoallw(const void* sendbuf, const C* sendcounts, const D* sdispls, const MPI_Datatype* sendtypes,
                                void* recvbuf, const C* recvcounts, const D* rdispls, const MPI_Datatype* recvtypes,
                                MPI_Comm comm, Way way) {
  return exchange(Topology(), comm, way,
                  alltoallw_blocks(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}

}  // namespace shim::intercept::collective
