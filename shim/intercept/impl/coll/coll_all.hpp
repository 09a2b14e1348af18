// SPDX-License-Identifier: BSD-3-Clause
// Implements collectives from all processes to all processes (MPI-4.1 §6.7, §6.8).
#pragma once

#include "shim/intercept/impl/coll/coll_exchange.hpp"

namespace shim::intercept::collective {

/// Implement MPI_Allgather and MPI_Alltoall, which have equal parameters. `algorithm` is
/// coll::allgather or coll::alltoall; `inter_blocks` returns the blocks exchanged on an
/// intercommunicator.
using Regular = coll::Task (*)(const coll::CollSeq&, const types::ConstBuffer&,
                               const types::Buffer&);

template <typename CallMode, typename InterBlocks>
base::Status regular(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     Count recvcount, MPI_Datatype recvtype, MPI_Comm handle, Regular algorithm,
                     InterBlocks inter_blocks, CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (comm->is_inter())
    return exchange(OtherGroup(), handle, call_mode,
                    inter_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
  types::ConstBuffer send;
  types::Buffer receive;
  SHIM_TRY(get_send_buffer(send, sendbuf, sendcount, sendtype));
  SHIM_TRY(get_buffer(receive, recvbuf, recvcount, recvtype));
  SHIM_TRY(check_no_alias(send, read_only(receive)));
  SHIM_TRY(
      check_no_alias(send, block_of(recvbuf, comm->rank() * recvcount, recvcount, *receive.type)));
  return call_mode(
      comm, handle, keep(send.type, receive.type),
      [=](const coll::CollSeq& seq, const KeptTypes&) { return algorithm(seq, send, receive); });
}

template <typename CallMode>
base::Status allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, CallMode call_mode) {
  return regular(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, coll::allgather,
                 allgather_blocks, call_mode);
}

template <typename CallMode>
base::Status alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, CallMode call_mode) {
  return regular(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, coll::alltoall,
                 alltoall_blocks, call_mode);
}

template <typename C, typename D, typename CallMode>
base::Status allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const C* recvcounts, const D* displs, MPI_Datatype recvtype,
                        MPI_Comm handle, CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (comm->is_inter())
    return exchange(
        OtherGroup(), handle, call_mode,
        allgatherv_blocks(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
  types::ConstBuffer send;
  SHIM_TRY(get_send_buffer(send, sendbuf, sendcount, sendtype));
  SHIM_TRY_ASSIGN(const types::Type* type, get_type(recvtype));
  OneSide held;
  SHIM_TRY(get_arrays(held.arrays, recvcounts, displs, comm->size(), "receive"));
  SHIM_TRY(check_blocks(recvbuf, *type, held.arrays));
  const int own = comm->rank();
  SHIM_TRY(check_no_alias(send, block_of(recvbuf, displs[own], recvcounts[own], *type)));
  held.types = keep(send.type, type);
  return call_mode(comm, handle, std::move(held),
                   [=](const coll::CollSeq& seq, const OneSide& kept) {
                     return coll::allgatherv(seq, send, recvbuf, kept.arrays.blocks, *type);
                   });
}

/// Arguments of MPI_Alltoallv that the task needs.
struct BothSides {
  Arrays send, receive;
  KeptTypes types;
  static bool is_empty() { return false; }
  void keep_arrays() {
    send.keep();
    receive.keep();
  }
};

template <typename C, typename D, typename CallMode>
base::Status alltoallv(const void* sendbuf, const C* sendcounts, const D* sdispls,
                       MPI_Datatype sendtype, void* recvbuf, const C* recvcounts, const D* rdispls,
                       MPI_Datatype recvtype, MPI_Comm handle, CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (comm->is_inter())
    return exchange(OtherGroup(), handle, call_mode,
                    alltoallv_blocks(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                     rdispls, recvtype));
  BothSides held;
  const types::Type* send_type = nullptr;  // null: in place
  if (sendbuf != MPI_IN_PLACE) {
    SHIM_TRY_ASSIGN(send_type, get_type(sendtype));
    SHIM_TRY(get_arrays(held.send, sendcounts, sdispls, comm->size(), "send"));
    SHIM_TRY(check_blocks(sendbuf, *send_type, held.send));
  }
  SHIM_TRY_ASSIGN(const types::Type* type, get_type(recvtype));
  SHIM_TRY(get_arrays(held.receive, recvcounts, rdispls, comm->size(), "receive"));
  SHIM_TRY(check_blocks(recvbuf, *type, held.receive));
  if (const int own = comm->rank(); send_type != nullptr)
    SHIM_TRY(check_no_alias(block_of(sendbuf, sdispls[own], sendcounts[own], *send_type),
                            block_of(recvbuf, rdispls[own], recvcounts[own], *type)));
  held.types = keep(send_type, type);
  return call_mode(comm, handle, std::move(held),
                   [=](const coll::CollSeq& seq, const BothSides& kept) {
                     return coll::alltoallv(seq, sendbuf, kept.send.blocks, send_type, recvbuf,
                                            kept.receive.blocks, *type);
                   });
}

/// Buffers of MPI_Alltoallw by rank.
struct Peers {
  std::vector<types::ConstBuffer> send;
  std::vector<types::Buffer> receive;
  std::vector<types::TypePtr> types;
  static bool is_empty() { return false; }

  void keep_types() {
    for (const auto& block : send) types.push_back(types::keep(*block.type));
    for (const auto& block : receive) types.push_back(types::keep(*block.type));
  }
};

template <typename C, typename D, typename CallMode>
base::Status alltoallw(const void* sendbuf, const C* sendcounts, const D* sdispls,
                       const MPI_Datatype* sendtypes, void* recvbuf, const C* recvcounts,
                       const D* rdispls, const MPI_Datatype* recvtypes, MPI_Comm handle,
                       CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (comm->is_inter())
    return exchange(OtherGroup(), handle, call_mode,
                    alltoallw_blocks(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                     rdispls, recvtypes));
  Peers peers;
  if (sendbuf != MPI_IN_PLACE)
    SHIM_TRY(get_peer_buffers(peers.send, sendbuf, sendcounts, sdispls, sendtypes, comm->size(),
                              "send"));
  SHIM_TRY(get_peer_buffers(peers.receive, recvbuf, recvcounts, rdispls, recvtypes, comm->size(),
                            "receive"));
  if (const auto own = static_cast<std::size_t>(comm->rank()); !peers.send.empty())
    SHIM_TRY(check_no_alias(peers.send[own], read_only(peers.receive[own])));
  peers.keep_types();
  return call_mode(comm, handle, std::move(peers), [](const coll::CollSeq& seq, const Peers& kept) {
    return coll::alltoallw(seq, kept.send, kept.receive);
  });
}

}  // namespace shim::intercept::collective
