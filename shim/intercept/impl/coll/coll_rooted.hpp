// SPDX-License-Identifier: BSD-3-Clause
// Implements the barrier and the collectives from or to a root (MPI-4.1 §6.3 to §6.6).
#pragma once

#include "shim/intercept/impl/coll/coll_exchange.hpp"

namespace shim::intercept::collective {

template <typename CallMode>
base::Status barrier(MPI_Comm handle, CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  return call_mode(comm, handle, KeptTypes(),
                   [](const coll::CollSeq& seq, const KeptTypes&) { return coll::barrier(seq); });
}

template <typename CallMode>
base::Status bcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm handle,
                   CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  SHIM_TRY(check_root(*comm, root));
  types::Buffer data;
  if (!comm->is_inter() || root != MPI_PROC_NULL)
    SHIM_TRY(get_buffer(data, buffer, count, datatype));
  return call_mode(comm, handle, keep(data.type), [=](const coll::CollSeq& seq, const KeptTypes&) {
    return coll::bcast(seq, data, to_root(root));
  });
}

template <typename CallMode>
base::Status gather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm handle,
                    CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (comm->is_inter())
    return exchange(ToRoot{root}, handle, call_mode,
                    alltoall_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
  SHIM_TRY(check_root(*comm, root));
  const bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  types::Buffer receive;
  SHIM_TRY(check_in_place(sendbuf, is_root));
  SHIM_TRY(get_send_buffer(send, sendbuf, sendcount, sendtype));
  if (is_root) {
    SHIM_TRY(get_buffer(receive, recvbuf, recvcount, recvtype));
    SHIM_TRY(check_no_alias(send, block_of(recvbuf, root * recvcount, recvcount, *receive.type)));
  }
  return call_mode(comm, handle, keep(send.type, receive.type),
                   [=](const coll::CollSeq& seq, const KeptTypes&) {
                     return coll::gather(seq, send, receive, root);
                   });
}

template <typename CallMode>
base::Status scatter(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm handle,
                     CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (comm->is_inter())
    return exchange(FromRoot{root}, handle, call_mode,
                    alltoall_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
  SHIM_TRY(check_root(*comm, root));
  const bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  types::Buffer receive;
  if (is_root) {
    SHIM_TRY(get_buffer(send, sendbuf, sendcount, sendtype));
  }
  SHIM_TRY(check_in_place(recvbuf, is_root));
  if (recvbuf != MPI_IN_PLACE) SHIM_TRY(get_buffer(receive, recvbuf, recvcount, recvtype));
  if (is_root)
    SHIM_TRY(check_no_alias(read_only(receive),
                            block_of(sendbuf, root * sendcount, sendcount, *send.type)));
  return call_mode(comm, handle, keep(send.type, receive.type),
                   [=](const coll::CollSeq& seq, const KeptTypes&) {
                     return coll::scatter(seq, send, receive, root);
                   });
}

template <typename C, typename D, typename CallMode>
base::Status gatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const C* recvcounts, const D* displs, MPI_Datatype recvtype, int root,
                     MPI_Comm handle, CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (comm->is_inter())
    return exchange(
        ToRoot{root}, handle, call_mode,
        allgatherv_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
  SHIM_TRY(check_root(*comm, root));
  const bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  SHIM_TRY(check_in_place(sendbuf, is_root));
  SHIM_TRY(get_send_buffer(send, sendbuf, sendcount, sendtype));
  const types::Type* type = nullptr;
  OneSide held;
  if (is_root) {
    SHIM_TRY_ASSIGN(type, get_type(recvtype));
    SHIM_TRY(get_arrays(held.arrays, recvcounts, displs, comm->size(), "receive"));
    SHIM_TRY(check_blocks(recvbuf, *type, held.arrays));
    SHIM_TRY(check_no_alias(send, block_of(recvbuf, displs[root], recvcounts[root], *type)));
  }
  held.types = keep(send.type, type);
  return call_mode(comm, handle, std::move(held),
                   [=](const coll::CollSeq& seq, const OneSide& kept) {
                     return coll::gatherv(seq, send, recvbuf, kept.arrays.blocks, type, root);
                   });
}

template <typename C, typename D, typename CallMode>
base::Status scatterv(const void* sendbuf, const C* sendcounts, const D* displs,
                      MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                      int root, MPI_Comm handle, CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (comm->is_inter())
    return exchange(
        FromRoot{root}, handle, call_mode,
        scatterv_blocks(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype));
  SHIM_TRY(check_root(*comm, root));
  const bool is_root = comm->rank() == root;
  const types::Type* type = nullptr;
  OneSide held;
  if (is_root) {
    SHIM_TRY_ASSIGN(type, get_type(sendtype));
    SHIM_TRY(get_arrays(held.arrays, sendcounts, displs, comm->size(), "send"));
    SHIM_TRY(check_blocks(sendbuf, *type, held.arrays));
  }
  types::Buffer receive;
  SHIM_TRY(check_in_place(recvbuf, is_root));
  if (recvbuf != MPI_IN_PLACE) SHIM_TRY(get_buffer(receive, recvbuf, recvcount, recvtype));
  if (is_root)
    SHIM_TRY(check_no_alias(read_only(receive),
                            block_of(sendbuf, displs[root], sendcounts[root], *type)));
  held.types = keep(receive.type, type);
  return call_mode(comm, handle, std::move(held),
                   [=](const coll::CollSeq& seq, const OneSide& kept) {
                     return coll::scatterv(seq, sendbuf, kept.arrays.blocks, type, receive, root);
                   });
}

}  // namespace shim::intercept::collective
