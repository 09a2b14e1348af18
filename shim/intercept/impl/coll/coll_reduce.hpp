// SPDX-License-Identifier: BSD-3-Clause
// Implements collectives with a reduction operation (MPI-4.1 §6.9 to §6.11).
#pragma once

#include "shim/intercept/impl/coll/collective.hpp"
#include "shim/intercept/impl/coll/reduction.hpp"

namespace shim::intercept::collective {

template <typename CallMode>
base::Status reduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,
                    MPI_Op op, int root, MPI_Comm handle, CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  SHIM_TRY(check_root(*comm, root));
  const RootedRole part = part_of(*comm, root);
  const bool sends = part.is_other || !comm->is_inter();
  // with root MPI_PROC_NULL no other argument is significant (MPI-4.1 §6.9.1)
  Reduction r = Reduction::of_no_data();
  // significant (MPI-4.1 §6.9.1)
  if (sends || part.is_root)
    SHIM_TRY(check_reduction(r, {sendbuf, recvbuf, count, datatype, op}, {sends, part.is_root}));
  if (sends) SHIM_TRY(check_in_place(sendbuf, part.is_root));
  return call_mode(comm, handle, std::move(r),
                   [=](const coll::CollSeq& seq, const Reduction& kept) {
                     return coll::reduce(seq, kept.send, kept.receive, kept.count, *kept.type,
                                         *kept.op, to_root(root));
                   });
}

/// Allreduce, scan, exscan and reduce_scatter_block: equal parameters, different algorithms.
using Algorithm = coll::Task (*)(const coll::CollSeq&, const types::ConstBuffer&, void*,
                                 std::uint64_t, const types::Type&, const types::Op&);

enum class On { any, intracommunicators };
/// Processes that get a result; on the others the receive buffer is not significant, except with
/// MPI_IN_PLACE.
enum class Results { at_all, at_all_but_the_first };

template <typename CallMode>
base::Status call_reduction(const ReductionArguments& given, MPI_Comm handle, Algorithm algorithm,
                            CallMode call_mode, On where = On::any,
                            Results results = Results::at_all) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  if (where == On::intracommunicators) SHIM_TRY(check_intra(*comm));
  if (comm->is_inter()) SHIM_TRY(check_address(given.sendbuf, false));
  const bool receives = results == Results::at_all || comm->rank() > 0 ||
                        given.sendbuf == MPI_IN_PLACE;
  Reduction r;
  SHIM_TRY(check_reduction(r, given, {.receives = receives}));
  // A common buffer is an error of all processes: this process must fail, too, and not start alone.
  if (!receives) SHIM_TRY(check_no_alias(r.send, {given.recvbuf, r.count, r.type}));
  return call_mode(
      comm, handle, std::move(r), [=](const coll::CollSeq& seq, const Reduction& kept) {
        return algorithm(seq, kept.send, kept.receive, kept.count, *kept.type, *kept.op);
      });
}

template <typename CallMode>
base::Status allreduce(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm, CallMode call_mode) {
  return call_reduction({sendbuf, recvbuf, count, datatype, op}, comm, coll::allreduce, call_mode);
}

template <typename CallMode>
base::Status scan(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, CallMode call_mode) {
  return call_reduction({sendbuf, recvbuf, count, datatype, op}, comm, coll::scan, call_mode,
                        On::intracommunicators);
}

template <typename CallMode>
base::Status exscan(const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,
                    MPI_Op op, MPI_Comm comm, CallMode call_mode) {
  return call_reduction({sendbuf, recvbuf, count, datatype, op}, comm, coll::exscan, call_mode,
                        On::intracommunicators, Results::at_all_but_the_first);
}

template <typename CallMode>
base::Status reduce_scatter_block(const void* sendbuf, void* recvbuf, Count recvcount,
                                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                  CallMode call_mode) {
  return call_reduction({sendbuf, recvbuf, recvcount, datatype, op}, comm,
                        coll::reduce_scatter_block, call_mode);
}

/// Arguments of MPI_Reduce_scatter that the task needs.
struct ReductionOfParts {
  Arrays arrays;
  Reduction reduction;
  static bool is_empty() { return false; }
  UserException* user_exception() const { return reduction.user_exception(); }
  void keep_arrays() { arrays.keep(); }
};

template <typename C, typename CallMode>
base::Status reduce_scatter(const void* sendbuf, void* recvbuf, const C* recvcounts,
                            MPI_Datatype datatype, MPI_Op op, MPI_Comm handle, CallMode call_mode) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr& comm, borrow_comm(handle));
  ReductionOfParts held;
  SHIM_TRY(get_arrays(held.arrays, recvcounts, recvcounts, comm->size(), "receive"));
  const coll::Integers& counts = held.arrays.blocks.counts;
  const ReductionArguments given{sendbuf, recvbuf, counts.sum(), datatype, op};
  if (comm->is_inter()) SHIM_TRY(check_address(sendbuf, false));
  const bool receives = counts[static_cast<std::size_t>(comm->rank())] > 0;
  SHIM_TRY(
      check_reduction(held.reduction, given, {.receives = receives || sendbuf == MPI_IN_PLACE}));
  return call_mode(comm, handle, std::move(held),
                   [](const coll::CollSeq& seq, const ReductionOfParts& kept) {
                     const Reduction& r = kept.reduction;
                     return coll::reduce_scatter(seq, r.send, r.receive, kept.arrays.blocks.counts,
                                                 *r.type, *r.op);
                   });
}

}  // namespace shim::intercept::collective
