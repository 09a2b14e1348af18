// SPDX-License-Identifier: BSD-3-Clause
// Implements blocking sends (MPI-4.1 §3.2.1, §3.4), except buffered ones (buffered.cpp).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {
namespace {

struct SendArguments {
  const void* buf;
  Count count;
  MPI_Datatype datatype;
  int dest, tag;
};

[[gnu::hot]] inline base::Status send(const SendArguments& message, MPI_Comm handle,
                                      p2p::SendMode mode) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) [[unlikely]]
    return slow::no_comm(handle);
  types::ConstBuffer data;
  SHIM_TRY(get_buffer(data, message.buf, message.count, message.datatype));
  SHIM_TRY(check_destination(**comm, message.dest));
  SHIM_TRY(check_send_tag(message.tag));
  return engine_of(**comm).send((*comm)->context(), data, abi::to_p2p_rank(message.dest),
                                message.tag, mode);
}

}  // namespace

namespace impl {

[[gnu::hot]] int Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPI_Send", [&] {
    return send({buf, count, datatype, dest, tag}, comm, p2p::SendMode::standard);
  });
}
int Send_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
           MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPI_Send_c", [&] {
    return send({buf, count, datatype, dest, tag}, comm, p2p::SendMode::standard);
  });
}
int Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPI_Ssend", [&] {
    return send({buf, count, datatype, dest, tag}, comm, p2p::SendMode::synchronous);
  });
}
int Ssend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPI_Ssend_c", [&] {
    return send({buf, count, datatype, dest, tag}, comm, p2p::SendMode::synchronous);
  });
}
int Rsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPI_Rsend", [&] {
    return send({buf, count, datatype, dest, tag}, comm, p2p::SendMode::ready);
  });
}
int Rsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPI_Rsend_c", [&] {
    return send({buf, count, datatype, dest, tag}, comm, p2p::SendMode::ready);
  });
}

}  // namespace impl
}  // namespace shim::intercept
