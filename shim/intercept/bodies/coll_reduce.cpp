// SPDX-License-Identifier: BSD-3-Clause
// Collectives that combine data with an operation: MPI-4.1 §6.9 to §6.11, and their non-blocking forms, §6.12.
#include "shim/intercept/bodies/collective.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

using sessions::CommunicatorPtr;

/// What all of them are given, as the user says it.
struct Arguments {
  const void* sendbuf;
  void* recvbuf;
  Count count;
  MPI_Datatype datatype;
  MPI_Op op;
};

/// The same, checked.
struct Reduction {
  types::ConstBuffer send;  ///< without a type: in place
  void* receive = nullptr;
  std::uint64_t count = 0;
  const types::Type* type = nullptr;
  const types::Op* op = nullptr;
};

/// @param receives does this process get a result?
base::Result<Reduction> check(const Arguments& given, bool receives) {
  Reduction checked;
  if (given.count < 0) return slow::bad_count(given.count, "count");
  SHIM_TRY_ASSIGN(checked.type, take_reduced_type(given.datatype));
  SHIM_TRY_ASSIGN(checked.op, take_op(given.op, *checked.type));
  SHIM_TRY(take_send(checked.send, given.sendbuf, given.count, given.datatype));
  checked.count = static_cast<std::uint64_t>(given.count);
  checked.receive = given.recvbuf;
  if (!receives) return checked;
  SHIM_TRY(check_address(given.recvbuf, given.count > 0));
  SHIM_TRY(check_no_alias(given.sendbuf, given.recvbuf, checked.count));
  return checked;
}

template <typename Call>
base::Status reduce(const Arguments& given, int root, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  SHIM_TRY(check_root(*comm, root));
  bool is_root = comm->rank() == root;
  SHIM_TRY_ASSIGN(Reduction r, check(given, is_root));
  if (!is_root && coll::is_in_place(r.send))
    return base::Error(base::ErrorClass::buffer, "MPI_IN_PLACE is for the root only");
  return call(comm, handle, [=, comm = comm.get()] {
    return coll::reduce(comm->coll(), r.send, r.receive, r.count, *r.type, *r.op, root);
  });
}

/// Allreduce, scan, exscan and reduce_scatter_block: the same arguments for different algorithms.
using Algorithm = coll::Task (*)(coll::Comm&, types::ConstBuffer, void*, std::uint64_t, const types::Type&, const types::Op&);

template <typename Call>
base::Status combine(const Arguments& given, MPI_Comm handle, Algorithm algorithm, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  SHIM_TRY_ASSIGN(Reduction r, check(given, true));
  return call(comm, handle, [=, comm = comm.get()] {
    return algorithm(comm->coll(), r.send, r.receive, r.count, *r.type, *r.op);
  });
}

template <typename C, typename Call>
base::Status reduce_scatter(Arguments given, const C* counts, MPI_Comm handle, Call call) {
  SHIM_TRY_ASSIGN(CommunicatorPtr comm, take_comm(handle));
  const InStep in_step(*comm, call);
  SHIM_TRY_ASSIGN(auto arrays, take_arrays(counts, counts, comm->size(), TypeItems{}, "receive"));
  for (std::int64_t count : arrays->counts) given.count += count;
  SHIM_TRY_ASSIGN(Reduction r, check(given, arrays->counts[static_cast<std::size_t>(comm->rank())] > 0));
  return call(comm, handle, [=, comm = comm.get()] {
    return holding(arrays, coll::reduce_scatter(comm->coll(), r.send, r.receive, arrays->counts, *r.type, *r.op));
  });
}

int reduce_local(const char* function, const void* in, void* inout, Count count, MPI_Datatype datatype, MPI_Op op) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_address(in, count > 0));
    SHIM_TRY_ASSIGN(Reduction r, check({in, inout, count, datatype, op}, true));
    return types::reduce(*r.op, *r.type, in, inout, r.count);
  });
}

}  // namespace

namespace ours {

int Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Reduce",
                 [&] { return reduce({sendbuf, recvbuf, count, datatype, op}, root, comm, Blocking{}); });
}
int Reduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Reduce_c",
                 [&] { return reduce({sendbuf, recvbuf, count, datatype, op}, root, comm, Blocking{}); });
}
int Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
            MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Ireduce",
                 [&] { return reduce({sendbuf, recvbuf, count, datatype, op}, root, comm, Nonblocking{request}); });
}

int Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Allreduce",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::allreduce, Blocking{}); });
}
int Allreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Allreduce_c",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::allreduce, Blocking{}); });
}
int Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
               MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Iallreduce",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::allreduce, Nonblocking{request}); });
}

int Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Scan",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::scan, Blocking{}); });
}
int Scan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Scan_c",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::scan, Blocking{}); });
}
int Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Iscan",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::scan, Nonblocking{request}); });
}

int Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Exscan",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::exscan, Blocking{}); });
}
int Exscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Exscan_c",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::exscan, Blocking{}); });
}
int Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
            MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Iexscan",
                 [&] { return combine({sendbuf, recvbuf, count, datatype, op}, comm, coll::exscan, Nonblocking{request}); });
}

int Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Reduce_scatter_block", [&] {
    return combine({sendbuf, recvbuf, recvcount, datatype, op}, comm, coll::reduce_scatter_block, Blocking{});
  });
}
int Reduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op,
                           MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Reduce_scatter_block_c", [&] {
    return combine({sendbuf, recvbuf, recvcount, datatype, op}, comm, coll::reduce_scatter_block, Blocking{});
  });
}
int Ireduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                          MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Ireduce_scatter_block", [&] {
    return combine({sendbuf, recvbuf, recvcount, datatype, op}, comm, coll::reduce_scatter_block, Nonblocking{request});
  });
}

int Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Reduce_scatter",
                 [&] { return reduce_scatter({sendbuf, recvbuf, 0, datatype, op}, recvcounts, comm, Blocking{}); });
}
int Reduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
                     MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Reduce_scatter_c",
                 [&] { return reduce_scatter({sendbuf, recvbuf, 0, datatype, op}, recvcounts, comm, Blocking{}); });
}
int Ireduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, MPI_Request* request) {
  return deliver(Subject::comm(comm), "MPI_Ireduce_scatter",
                 [&] { return reduce_scatter({sendbuf, recvbuf, 0, datatype, op}, recvcounts, comm, Nonblocking{request}); });
}

int Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local("MPI_Reduce_local", inbuf, inoutbuf, count, datatype, op);
}
int Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local("MPI_Reduce_local_c", inbuf, inoutbuf, count, datatype, op);
}

}  // namespace ours
}  // namespace shim::intercept
