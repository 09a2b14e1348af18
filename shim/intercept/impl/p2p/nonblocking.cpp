// SPDX-License-Identifier: BSD-3-Clause
// Implements non-blocking operations (MPI-4.1 §3.7.2) and their persistent forms (§3.9).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {
namespace {

using p2p::SendMode;

/// One side of a message: buffer, and destination or source.
template <typename Address>
struct MessageArguments {
  Address buf;
  Count count;
  MPI_Datatype datatype;
  int peer, tag;
};
using OutgoingBlock = MessageArguments<const void*>;
using IncomingBlock = MessageArguments<void*>;

/// Check a send and pass it to `begin`, which returns the engine's request; null if the operation
/// has completed, with the outcome in the object.
template <typename Begin>
[[gnu::always_inline]] inline base::Status start_send(const OutgoingBlock& out, MPI_Comm handle,
                                                      MPI_Request* request, const Begin& begin) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) [[unlikely]]
    return slow::no_comm(handle);
  types::ConstBuffer data;
  SHIM_TRY(get_buffer(data, out.buf, out.count, out.datatype));
  if (!is_destination(**comm, out.peer) || !is_tag(out.tag) || request == nullptr) [[unlikely]] {
    SHIM_TRY(check_destination(**comm, out.peer));
    SHIM_TRY(check_send_tag(out.tag));
    return slow::no_output("request");
  }
  const auto make = [&] {
    return RequestObject{.comm = comm->get(), .handle = handle, .outcome = {}};
  };
  return make_request_handle_for(**comm, request, make, [&](RequestObject& made) {
    return begin(engine_of(**comm), (*comm)->context(), data, made);
  });
}

template <typename Begin>
[[gnu::always_inline]] inline base::Status start_receive(const IncomingBlock& in, MPI_Comm handle,
                                                         MPI_Request* request, const Begin& begin) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) [[unlikely]]
    return slow::no_comm(handle);
  types::Buffer into;
  SHIM_TRY(get_buffer(into, in.buf, in.count, in.datatype));
  if (!is_source(**comm, in.peer) || !(is_tag(in.tag) || in.tag == MPI_ANY_TAG) ||
      request == nullptr) [[unlikely]] {
    SHIM_TRY(check_source(**comm, in.peer));
    SHIM_TRY(check_receive_tag(in.tag));
    return slow::no_output("request");
  }
  const auto make = [&] { return RequestObject{.comm = comm->get(), .handle = handle}; };
  return make_request_handle_for(**comm, request, make, [&](RequestObject& made) {
    return begin(engine_of(**comm), (*comm)->context(), into, made);
  });
}

// Inlined into each non-blocking function: a call with this many arguments would cost as much as
// the function's other work.
[[gnu::always_inline]] inline int isend(const char* function, const OutgoingBlock& out,
                                        MPI_Comm comm, MPI_Request* request, SendMode mode) {
  return run_with_handler(
      Subject::comm(comm), function, [&]() __attribute__((always_inline)) {
        return start_send(out, comm, request,
                          [&](p2p::Engine& engine, p2p::Context& context,
                              const types::ConstBuffer& data, RequestObject& made) {
                            return engine.send_or_start(context, data, abi::to_p2p_rank(out.peer),
                                                        out.tag, mode, made.inline_sent);
                          });
      });
}

[[gnu::always_inline]] inline int irecv(const char* function, const IncomingBlock& in,
                                        MPI_Comm comm, MPI_Request* request) {
  return run_with_handler(
      Subject::comm(comm), function, [&]() __attribute__((always_inline)) {
        return start_receive(in, comm, request,
                             [&](p2p::Engine& engine, p2p::Context& context,
                                 const types::Buffer& into, RequestObject& made) {
                               return engine.receive_or_start(
                                   context, into, abi::to_p2p_rank(in.peer), in.tag, made.outcome);
                             });
      });
}

int send_init(const char* function, const OutgoingBlock& out, MPI_Comm comm, MPI_Request* request,
              SendMode mode) {
  return run_with_handler(Subject::comm(comm), function, [&] {
    return start_send(out, comm, request,
                      [&](p2p::Engine& engine, p2p::Context& context,
                          const types::ConstBuffer& data, RequestObject&) {
                        return engine.send_init(context, data, abi::to_p2p_rank(out.peer), out.tag,
                                                mode);
                      });
  });
}

int recv_init(const char* function, const IncomingBlock& in, MPI_Comm comm, MPI_Request* request) {
  return run_with_handler(Subject::comm(comm), function, [&] {
    return start_receive(
        in, comm, request,
        [&](p2p::Engine& engine, p2p::Context& context, const types::Buffer& into, RequestObject&) {
          return engine.recv_init(context, into, abi::to_p2p_rank(in.peer), in.tag);
        });
  });
}

}  // namespace

namespace impl {

int Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
          MPI_Request* request) {
  return isend("MPI_Isend", {buf, count, datatype, dest, tag}, comm, request, SendMode::standard);
}
int Isend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm, MPI_Request* request) {
  return isend("MPI_Isend_c", {buf, count, datatype, dest, tag}, comm, request, SendMode::standard);
}
int Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return isend("MPI_Issend", {buf, count, datatype, dest, tag}, comm, request,
               SendMode::synchronous);
}
int Issend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm, MPI_Request* request) {
  return isend("MPI_Issend_c", {buf, count, datatype, dest, tag}, comm, request,
               SendMode::synchronous);
}
int Irsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return isend("MPI_Irsend", {buf, count, datatype, dest, tag}, comm, request, SendMode::ready);
}
int Irsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm, MPI_Request* request) {
  return isend("MPI_Irsend_c", {buf, count, datatype, dest, tag}, comm, request, SendMode::ready);
}
int Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
          MPI_Request* request) {
  return irecv("MPI_Irecv", {buf, count, datatype, source, tag}, comm, request);
}
int Irecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
            MPI_Request* request) {
  return irecv("MPI_Irecv_c", {buf, count, datatype, source, tag}, comm, request);
}

int Send_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return send_init("MPI_Send_init", {buf, count, datatype, dest, tag}, comm, request,
                   SendMode::standard);
}
int Send_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Send_init_c", {buf, count, datatype, dest, tag}, comm, request,
                   SendMode::standard);
}
int Ssend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return send_init("MPI_Ssend_init", {buf, count, datatype, dest, tag}, comm, request,
                   SendMode::synchronous);
}
int Ssend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Ssend_init_c", {buf, count, datatype, dest, tag}, comm, request,
                   SendMode::synchronous);
}
int Rsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return send_init("MPI_Rsend_init", {buf, count, datatype, dest, tag}, comm, request,
                   SendMode::ready);
}
int Rsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return send_init("MPI_Rsend_init_c", {buf, count, datatype, dest, tag}, comm, request,
                   SendMode::ready);
}
int Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return recv_init("MPI_Recv_init", {buf, count, datatype, source, tag}, comm, request);
}
int Recv_init_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Request* request) {
  return recv_init("MPI_Recv_init_c", {buf, count, datatype, source, tag}, comm, request);
}

}  // namespace impl
}  // namespace shim::intercept
