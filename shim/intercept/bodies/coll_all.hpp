// SPDX-License-Identifier: BSD-3-Clause
// Collectives in which everybody gets data from everybody: MPI-4.1 §6.7 and §6.8.
#pragma once

#include "shim/intercept/bodies/collective.hpp"

namespace shim::intercept::collective {

/// MPI_Allgather and MPI_Alltoall take the same arguments; `algorithm` is coll::allgather or coll::alltoall.
using Regular = coll::Task (*)(coll::Turn, types::ConstBuffer, types::Buffer);

template <typename Way>
base::Status regular(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                     MPI_Datatype recvtype, MPI_Comm handle, Regular algorithm, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  types::ConstBuffer send;
  types::Buffer receive;
  SHIM_TRY(take_send(send, sendbuf, sendcount, sendtype));
  SHIM_TRY(take_buffer(receive, recvbuf, recvcount, recvtype));
  SHIM_TRY(check_no_alias(sendbuf, recvbuf, receive.bytes()));
  return way(comm, handle, [=] { return algorithm(turn, send, receive); });
}

template <typename Way>
base::Status allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm, Way way) {
  return regular(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, coll::allgather, way);
}

template <typename Way>
base::Status alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, Way way) {
  return regular(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, coll::alltoall, way);
}

template <typename C, typename D, typename Way>
base::Status allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, const C* recvcounts,
                        const D* displs, MPI_Datatype recvtype, MPI_Comm handle, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  types::ConstBuffer send;
  SHIM_TRY(take_send(send, sendbuf, sendcount, sendtype));
  SHIM_TRY_ASSIGN(const types::Type* type, take_type(recvtype));
  SHIM_TRY_ASSIGN(auto arrays, take_arrays(recvcounts, displs, comm->size(), "receive"));
  SHIM_TRY(check_address(recvbuf, arrays->has_data()));
  return way(comm, handle, [=] {
    return holding(arrays, coll::allgatherv(turn, send, recvbuf, arrays->blocks(), *type));
  });
}

/// The arrays of both sides, kept together.
struct BothArrays {
  std::shared_ptr<Arrays> send = std::make_shared<Arrays>(), receive;
};

template <typename C, typename D, typename Way>
base::Status alltoallv(const void* sendbuf, const C* sendcounts, const D* sdispls, MPI_Datatype sendtype, void* recvbuf,
                       const C* recvcounts, const D* rdispls, MPI_Datatype recvtype, MPI_Comm handle, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  auto arrays = std::make_shared<BothArrays>();
  const types::Type* send_type = nullptr;  // without a type: in place
  if (sendbuf != MPI_IN_PLACE) {
    SHIM_TRY_ASSIGN(send_type, take_type(sendtype));
    SHIM_TRY_ASSIGN(arrays->send, take_arrays(sendcounts, sdispls, comm->size(), "send"));
    SHIM_TRY(check_address(sendbuf, arrays->send->has_data()));
  }
  SHIM_TRY_ASSIGN(const types::Type* type, take_type(recvtype));
  SHIM_TRY_ASSIGN(arrays->receive, take_arrays(recvcounts, rdispls, comm->size(), "receive"));
  SHIM_TRY(check_address(recvbuf, arrays->receive->has_data()));
  return way(comm, handle, [=] {
    return holding(arrays, coll::alltoallv(turn, sendbuf, arrays->send->blocks(), send_type, recvbuf,
                                           arrays->receive->blocks(), *type));
  });
}

}  // namespace shim::intercept::collective
