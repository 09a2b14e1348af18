// SPDX-License-Identifier: BSD-3-Clause
// Implements a send and a receive in one call (MPI-4.1 §3.10).
#include <vector>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/p2p/sendrecv_envelope.hpp"

namespace shim::intercept {
namespace {

/// Exchange a message that does not leave at once. Post the receive before the send, so that a ring
/// of these calls cannot deadlock.
base::Status exchange_long(sessions::Communicator& comm, const types::ConstBuffer& data,
                           const types::Buffer& into, const SendrecvEnvelope& envelope,
                           MPI_Status* status) {
  p2p::Engine& engine = engine_of(comm);
  SHIM_TRY_ASSIGN(p2p::Request * receive,
                  engine.irecv(comm.context(), into, abi::to_p2p_rank(envelope.source),
                               envelope.receive_tag, p2p::Plane::user, p2p::Caller::waits));
  base::Status sent = engine.send(comm.context(), data, abi::to_p2p_rank(envelope.dest),
                                  envelope.send_tag, p2p::SendMode::standard);
  if (!sent)
    static_cast<void>(engine.cancel(*receive));  // no reply will come; completes either way
  base::Status received = engine.wait(*receive);
  if (received && receive->error() != nullptr) received = receive->error()->clone();
  if (sent && received) abi::write_status(status, receive->outcome());
  engine.release(receive);
  return sent ? std::move(received) : std::move(sent);
}

base::Status exchange(sessions::Communicator& comm, const types::ConstBuffer& data,
                      const types::Buffer& into, const SendrecvEnvelope& envelope,
                      MPI_Status* status) {
  p2p::Engine& engine = engine_of(comm);
  if (!engine.send_at_once(comm.context(), data, abi::to_p2p_rank(envelope.dest),
                           envelope.send_tag))
    return exchange_long(comm, data, into, envelope, status);
  SHIM_TRY_ASSIGN(
      const p2p::MessageStatus received,
      engine.recv(comm.context(), into, abi::to_p2p_rank(envelope.source), envelope.receive_tag));
  abi::write_status(status, received);
  return {};
}

int sendrecv(const char* function, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
             void* recvbuf, Count recvcount, MPI_Datatype recvtype,
             const SendrecvEnvelope& envelope, MPI_Comm handle, MPI_Status* status) {
  return run_with_handler(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, check_envelope(handle, envelope));
    types::ConstBuffer data;
    types::Buffer into;
    SHIM_TRY(get_buffer(data, sendbuf, sendcount, sendtype));
    SHIM_TRY(get_buffer(into, recvbuf, recvcount, recvtype));
    return exchange(*comm, data, into, envelope, status);
  });
}

int replace(const char* function, void* buf, Count count, MPI_Datatype datatype,
            const SendrecvEnvelope& envelope, MPI_Comm handle, MPI_Status* status) {
  return run_with_handler(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, check_envelope(handle, envelope));
    types::Buffer into;
    SHIM_TRY(get_buffer(into, buf, count, datatype));
    std::vector<std::byte> copy(into.bytes());
    types::pack(*into.type, buf, 0, copy);
    return exchange(*comm, {copy.data(), copy.size(), &types::byte_type()}, into, envelope, status);
  });
}

}  // namespace

namespace impl {

int Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
             MPI_Comm comm, MPI_Status* status) {
  return sendrecv("MPI_Sendrecv", sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                  {dest, sendtag, source, recvtag}, comm, status);
}
int Sendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
               int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
               int recvtag, MPI_Comm comm, MPI_Status* status) {
  return sendrecv("MPI_Sendrecv_c", sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                  {dest, sendtag, source, recvtag}, comm, status);
}
int Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                     int recvtag, MPI_Comm comm, MPI_Status* status) {
  return replace("MPI_Sendrecv_replace", buf, count, datatype, {dest, sendtag, source, recvtag},
                 comm, status);
}
int Sendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                       int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  return replace("MPI_Sendrecv_replace_c", buf, count, datatype, {dest, sendtag, source, recvtag},
                 comm, status);
}

}  // namespace impl
}  // namespace shim::intercept
