// SPDX-License-Identifier: BSD-3-Clause
// Barrier, and the collectives that move data from or to a root: MPI-4.1 §6.3 to §6.6, and their non-blocking forms, §6.12.
#include "shim/intercept/bodies/collective.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

using sessions::CommunicatorPtr;

template <typename Call>
base::Status barrier(MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  return call(comm, handle, [comm = comm.get()] { return coll::barrier(comm->coll()); });
}

template <typename Call>
base::Status bcast(void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  SHIM_TRY(check_root(*comm, root));
  types::Buffer data;
  SHIM_TRY(take_buffer(data, buffer, count, datatype));
  return call(comm, handle, [=, comm = comm.get()] { return coll::bcast(comm->coll(), data, root); });
}

/// The side of the root that nobody else has may be MPI_IN_PLACE.
base::Status check_in_place(const void* address, bool is_root) {
  if (address != MPI_IN_PLACE || is_root) return {};
  return base::Error(base::ErrorClass::buffer, "MPI_IN_PLACE is for the root only");
}

template <typename Call>
base::Status gather(SendSide out, ReceiveSide in, int root, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  SHIM_TRY(check_root(*comm, root));
  bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  types::Buffer receive;
  SHIM_TRY(check_in_place(out.address, is_root));
  SHIM_TRY(take_send(send, out.address, out.count, out.datatype));
  if (is_root) {
    SHIM_TRY(take_buffer(receive, in.address, in.count, in.datatype));
    SHIM_TRY(check_no_alias(out.address, in.address, receive.bytes()));
  }
  return call(comm, handle, [=, comm = comm.get()] { return coll::gather(comm->coll(), send, receive, root); });
}

template <typename Call>
base::Status scatter(SendSide out, ReceiveSide in, int root, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  SHIM_TRY(check_root(*comm, root));
  bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  types::Buffer receive;
  if (is_root) {
    SHIM_TRY(take_buffer(send, out.address, out.count, out.datatype));
    SHIM_TRY(check_no_alias(out.address, in.address, send.bytes()));
  }
  SHIM_TRY(check_in_place(in.address, is_root));
  if (in.address != MPI_IN_PLACE) {
    SHIM_TRY(take_buffer(receive, in.address, in.count, in.datatype));
  }
  return call(comm, handle, [=, comm = comm.get()] { return coll::scatter(comm->coll(), send, receive, root); });
}

template <typename C, typename D, typename Call>
base::Status gatherv(SendSide out, BlockSide<void*, C, D> in, int root, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  SHIM_TRY(check_root(*comm, root));
  bool is_root = comm->rank() == root;
  types::ConstBuffer send;
  SHIM_TRY(check_in_place(out.address, is_root));
  SHIM_TRY(take_send(send, out.address, out.count, out.datatype));
  TypeItems type;
  auto arrays = std::make_shared<Arrays>();
  if (is_root) {
    SHIM_TRY_ASSIGN(type, type_items(in.datatype));
    SHIM_TRY_ASSIGN(arrays, take_arrays(in.counts, in.displacements, comm->size(), type, "receive"));
    SHIM_TRY(check_address(in.address, arrays->has_data()));
  }
  return call(comm, handle, [=, comm = comm.get(), into = in.address] {
    return holding(arrays, coll::gatherv(comm->coll(), send, into, arrays->blocks(), type.base, root));
  });
}

template <typename C, typename D, typename Call>
base::Status scatterv(BlockSide<const void*, C, D> out, ReceiveSide in, int root, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  SHIM_TRY(check_root(*comm, root));
  bool is_root = comm->rank() == root;
  TypeItems type;
  auto arrays = std::make_shared<Arrays>();
  if (is_root) {
    SHIM_TRY_ASSIGN(type, type_items(out.datatype));
    SHIM_TRY_ASSIGN(arrays, take_arrays(out.counts, out.displacements, comm->size(), type, "send"));
    SHIM_TRY(check_address(out.address, arrays->has_data()));
  }
  types::Buffer receive;
  SHIM_TRY(check_in_place(in.address, is_root));
  if (in.address != MPI_IN_PLACE) {
    SHIM_TRY(take_buffer(receive, in.address, in.count, in.datatype));
  }
  return call(comm, handle, [=, comm = comm.get(), from = out.address] {
    return holding(arrays, coll::scatterv(comm->coll(), from, arrays->blocks(), type.base, receive, root));
  });
}

}  // namespace

namespace ours {

int Barrier(MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Barrier", [&] { return barrier(comm, Blocking{}); });
}
int Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Ibarrier", [&] { return barrier(comm, Nonblocking{request}); });
}

int Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Bcast", [&] { return bcast(buffer, count, datatype, root, comm, Blocking{}); });
}
int Bcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Bcast_c", [&] { return bcast(buffer, count, datatype, root, comm, Blocking{}); });
}
int Ibcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Ibcast", [&] { return bcast(buffer, count, datatype, root, comm, Nonblocking{request}); });
}

int Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
           int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Gather", [&] {
    return gather({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root, comm, Blocking{});
  });
}
int Gather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
             MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Gather_c", [&] {
    return gather({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root, comm, Blocking{});
  });
}
int Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
            int root, MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Igather", [&] {
    return gather({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root, comm, Nonblocking{request});
  });
}

int Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
            int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Scatter", [&] {
    return scatter({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root, comm, Blocking{});
  });
}
int Scatter_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
              MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Scatter_c", [&] {
    return scatter({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root, comm, Blocking{});
  });
}
int Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
             int root, MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Iscatter", [&] {
    return scatter({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, root, comm, Nonblocking{request});
  });
}

int Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
            const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Gatherv", [&] {
    return gatherv<int, int>({sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root, comm, Blocking{});
  });
}
int Gatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
              const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Gatherv_c", [&] {
    return gatherv<MPI_Count, MPI_Aint>({sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root, comm,
                                        Blocking{});
  });
}
int Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
             const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Igatherv", [&] {
    return gatherv<int, int>({sendbuf, sendcount, sendtype}, {recvbuf, recvcounts, displs, recvtype}, root, comm,
                             Nonblocking{request});
  });
}

int Scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void* recvbuf,
             int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Scatterv", [&] {
    return scatterv<int, int>({sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root, comm, Blocking{});
  });
}
int Scatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype, void* recvbuf,
               MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Scatterv_c", [&] {
    return scatterv<MPI_Count, MPI_Aint>({sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root, comm,
                                         Blocking{});
  });
}
int Iscatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void* recvbuf,
              int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Iscatterv", [&] {
    return scatterv<int, int>({sendbuf, sendcounts, displs, sendtype}, {recvbuf, recvcount, recvtype}, root, comm,
                              Nonblocking{request});
  });
}

}  // namespace ours
}  // namespace shim::intercept
