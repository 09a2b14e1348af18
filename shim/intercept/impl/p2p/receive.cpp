// SPDX-License-Identifier: BSD-3-Clause
// Implements blocking receives (MPI-4.1 §3.2.4). mprobe.cpp receives messages of matched probes.
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {
namespace {

[[gnu::hot]] inline base::Status receive(void* buf, Count count, MPI_Datatype datatype, int source,
                                         int tag, MPI_Comm handle, MPI_Status* status) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) [[unlikely]]
    return slow::no_comm(handle);
  types::Buffer into;
  SHIM_TRY(get_buffer(into, buf, count, datatype));
  SHIM_TRY(check_source(**comm, source));
  SHIM_TRY(check_receive_tag(tag));
  SHIM_TRY_ASSIGN(p2p::MessageStatus outcome,
                  engine_of(**comm).recv((*comm)->context(), into, abi::to_p2p_rank(source), tag));
  abi::write_status(status, outcome);
  return {};
}

}  // namespace

namespace impl {

[[gnu::hot]] int Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                      MPI_Comm comm, MPI_Status* status) {
  return run_with_handler(Subject::comm(comm), "MPI_Recv",
                          [&] { return receive(buf, count, datatype, source, tag, comm, status); });
}
int Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
           MPI_Status* status) {
  return run_with_handler(Subject::comm(comm), "MPI_Recv_c",
                          [&] { return receive(buf, count, datatype, source, tag, comm, status); });
}

}  // namespace impl
}  // namespace shim::intercept
