// SPDX-License-Identifier: BSD-3-Clause
// Collectives in which everybody gets data from everybody: MPI-4.1 §6.7 and §6.8, and their non-blocking forms, §6.12.
#include "shim/intercept/bodies/collective.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

using sessions::CommunicatorPtr;

/// MPI_Allgather and MPI_Alltoall take the same arguments; `algorithm` is coll::allgather or coll::alltoall.
using Regular = coll::Task (*)(coll::Comm&, types::ConstBuffer, types::Buffer);

template <typename Call>
base::Status regular(SendSide out, ReceiveSide in, MPI_Comm handle, Regular algorithm, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  types::ConstBuffer send;
  types::Buffer receive;
  SHIM_TRY(take_send(send, out.address, out.count, out.datatype));
  SHIM_TRY(take_buffer(receive, in.address, in.count, in.datatype));
  SHIM_TRY(check_no_alias(out.address, in.address, receive.bytes()));
  return call(comm, handle, [=, comm = comm.get()] { return algorithm(comm->coll(), send, receive); });
}

template <typename C, typename D, typename Call>
base::Status allgatherv(SendSide out, BlockSide<void*, C, D> in, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  types::ConstBuffer send;
  SHIM_TRY(take_send(send, out.address, out.count, out.datatype));
  SHIM_TRY_ASSIGN(TypeItems type, type_items(in.datatype));
  SHIM_TRY_ASSIGN(auto arrays, take_arrays(in.counts, in.displacements, comm->size(), type, "receive"));
  SHIM_TRY(check_address(in.address, arrays->has_data()));
  return call(comm, handle, [=, comm = comm.get(), into = in.address] {
    return holding(arrays, coll::allgatherv(comm->coll(), send, into, arrays->blocks(), *type.base));
  });
}

/// The arrays of both sides, kept together.
struct BothArrays {
  std::shared_ptr<Arrays> send = std::make_shared<Arrays>(), receive;
};

template <typename C, typename D, typename Call>
base::Status alltoallv(BlockSide<const void*, C, D> out, BlockSide<void*, C, D> in, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  auto arrays = std::make_shared<BothArrays>();
  TypeItems send_type;  // without a type: in place
  if (out.address != MPI_IN_PLACE) {
    SHIM_TRY_ASSIGN(send_type, type_items(out.datatype));
    SHIM_TRY_ASSIGN(arrays->send, take_arrays(out.counts, out.displacements, comm->size(), send_type, "send"));
    SHIM_TRY(check_address(out.address, arrays->send->has_data()));
  }
  SHIM_TRY_ASSIGN(TypeItems type, type_items(in.datatype));
  SHIM_TRY_ASSIGN(arrays->receive, take_arrays(in.counts, in.displacements, comm->size(), type, "receive"));
  SHIM_TRY(check_address(in.address, arrays->receive->has_data()));
  return call(comm, handle, [=, comm = comm.get(), from = out.address, into = in.address] {
    return holding(arrays, coll::alltoallv(comm->coll(), from, arrays->send->blocks(), send_type.base, into,
                                           arrays->receive->blocks(), *type.base));
  });
}

}  // namespace

namespace ours {

int Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
              MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Allgather", [&] {
    return regular({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm, coll::allgather, Blocking{});
  });
}
int Allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Allgather_c", [&] {
    return regular({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm, coll::allgather, Blocking{});
  });
}
int Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
               MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Iallgather", [&] {
    return regular({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm, coll::allgather, Nonblocking{request});
  });
}

int Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
             MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Alltoall", [&] {
    return regular({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm, coll::alltoall, Blocking{});
  });
}
int Alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
               MPI_Datatype recvtype, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Alltoall_c", [&] {
    return regular({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm, coll::alltoall, Blocking{});
  });
}
int Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
              MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Ialltoall", [&] {
    return regular({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm, coll::alltoall, Nonblocking{request});
  });
}

int Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
               const int displs[], MPI_Datatype recvtype, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Allgatherv", [&] {
    return allgatherv<int, int>({sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, comm, Blocking{});
  });
}
int Allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                 const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Allgatherv_c", [&] {
    return allgatherv<MPI_Count, MPI_Aint>({sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, comm,
                                           Blocking{});
  });
}
int Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Iallgatherv", [&] {
    return allgatherv<int, int>({sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, comm,
                                Nonblocking{request});
  });
}

int Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
              const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Alltoallv", [&] {
    return alltoallv<int, int>({sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype}, comm,
                               Blocking{});
  });
}
int Alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Alltoallv_c", [&] {
    return alltoallv<MPI_Count, MPI_Aint>({sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype},
                                          comm, Blocking{});
  });
}
int Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
               const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Ialltoallv", [&] {
    return alltoallv<int, int>({sendbuf, sendcounts, sdispls, sendtype}, {recvbuf, recvcounts, rdispls, recvtype}, comm,
                               Nonblocking{request});
  });
}

}  // namespace ours
}  // namespace shim::intercept
