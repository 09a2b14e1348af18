// SPDX-License-Identifier: BSD-3-Clause
// Barrier, and the collectives that move data from or to a root: MPI-4.1 §6.3 to §6.6.
#pragma once

#include "shim/intercept/bodies/collective.hpp"

namespace shim::intercept::collective {

template <typename Way>
base::Status barrier(MPI_Comm handle, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  return way(comm, handle, [turn] { return coll::barrier(turn); });
}

template <typename Way>
base::Status bcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm handle, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  SHIM_TRY(check_root(*comm, root));
  types::Buffer data;
  SHIM_TRY(take_buffer(data, buffer, count, datatype));
  return way(comm, handle, [=] { return coll::bcast(turn, data, root); });
}

template <typename Way>
base::Status gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm handle, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  SHIM_TRY(check_root(*comm, root));
  const bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  types::Buffer receive;
  SHIM_TRY(check_in_place(sendbuf, is_root));
  SHIM_TRY(take_send(send, sendbuf, sendcount, sendtype));
  if (is_root) {
    SHIM_TRY(take_buffer(receive, recvbuf, recvcount, recvtype));
    SHIM_TRY(check_no_alias(sendbuf, recvbuf, receive.bytes()));
  }
  return way(comm, handle, [=] { return coll::gather(turn, send, receive, root); });
}

template <typename Way>
base::Status scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm handle, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  SHIM_TRY(check_root(*comm, root));
  const bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  types::Buffer receive;
  if (is_root) {
    SHIM_TRY(take_buffer(send, sendbuf, sendcount, sendtype));
    SHIM_TRY(check_no_alias(sendbuf, recvbuf, send.bytes()));
  }
  SHIM_TRY(check_in_place(recvbuf, is_root));
  if (recvbuf != MPI_IN_PLACE) SHIM_TRY(take_buffer(receive, recvbuf, recvcount, recvtype));
  return way(comm, handle, [=] { return coll::scatter(turn, send, receive, root); });
}

template <typename C, typename D, typename Way>
base::Status gatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, const C* recvcounts,
                     const D* displs, MPI_Datatype recvtype, int root, MPI_Comm handle, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  SHIM_TRY(check_root(*comm, root));
  const bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  SHIM_TRY(check_in_place(sendbuf, is_root));
  SHIM_TRY(take_send(send, sendbuf, sendcount, sendtype));
  const types::Type* type = nullptr;
  auto arrays = std::make_shared<Arrays>();
  if (is_root) {
    SHIM_TRY_ASSIGN(type, take_type(recvtype));
    SHIM_TRY_ASSIGN(arrays, take_arrays(recvcounts, displs, comm->size(), "receive"));
    SHIM_TRY(check_address(recvbuf, arrays->has_data()));
  }
  return way(comm, handle, [=] {
    return holding(arrays, coll::gatherv(turn, send, recvbuf, arrays->blocks(), type, root));
  });
}

template <typename C, typename D, typename Way>
base::Status scatterv(const void* sendbuf, const C* sendcounts, const D* displs, MPI_Datatype sendtype, void* recvbuf,
                      Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm handle, Way way) {
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, take_comm(handle));
  const coll::Turn turn = way.turn(*comm);
  SHIM_TRY(check_root(*comm, root));
  const bool is_root = comm->rank() == root;
  const types::Type* type = nullptr;
  auto arrays = std::make_shared<Arrays>();
  if (is_root) {
    SHIM_TRY_ASSIGN(type, take_type(sendtype));
    SHIM_TRY_ASSIGN(arrays, take_arrays(sendcounts, displs, comm->size(), "send"));
    SHIM_TRY(check_address(sendbuf, arrays->has_data()));
  }
  types::Buffer receive;
  SHIM_TRY(check_in_place(recvbuf, is_root));
  if (recvbuf != MPI_IN_PLACE) SHIM_TRY(take_buffer(receive, recvbuf, recvcount, recvtype));
  return way(comm, handle, [=] {
    return holding(arrays, coll::scatterv(turn, sendbuf, arrays->blocks(), type, receive, root));
  });
}

}  // namespace shim::intercept::collective
