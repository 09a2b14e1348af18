// SPDX-License-Identifier: BSD-3-Clause
// Implements a send and a receive with one request, in either library (MPI-4.1 §3.10).
#include <algorithm>
#include <vector>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/p2p/sendrecv_envelope.hpp"
#include "shim/intercept/impl/request/completion.hpp"
#include "shim/intercept/impl/request/native_request.hpp"

namespace shim::intercept {
namespace {

/// Completes when the send and the receive have completed, with the outcome of the receive.
class PairRequest final : public PolledRequest {
 public:
  PairRequest(p2p::Request* send, p2p::Request* receive) : send_(send), receive_(receive) {}

  void advance() override {
    std::lock_guard lock(mutex_);
    if (is_done() || !send_->is_done() || !receive_->is_done()) return;
    const base::Error* error = receive_->error() != nullptr ? receive_->error() : send_->error();
    complete(receive_->outcome(), error != nullptr ? std::optional(error->clone()) : std::nullopt);
  }
  int describe(MPI_Status* status) override {
    abi::write_status(status, outcome());
    return MPI_SUCCESS;
  }
  int cancel() override {
    // both complete either way; the status is the receive's
    static_cast<void>(p2p::Engine::cancel(*receive_));
    static_cast<void>(p2p::Engine::cancel(*send_));
    return MPI_SUCCESS;
  }
  void detach() override { delete this; }

 private:
  ~PairRequest() override {
    p2p::Engine::release(send_);
    p2p::Engine::release(receive_);
  }
  std::mutex mutex_;
  p2p::Request* send_;
  p2p::Request* receive_;
};

/// Data to send; the engine copies it if the receive will overwrite it.
struct Sent {
  types::ConstBuffer data;
  bool is_copied;
};

/// Start both. The receive is posted first, so that a message to this process matches it.
base::Status start(const sessions::CommunicatorPtr& comm, MPI_Comm handle, const Sent& sent,
                   const types::Buffer& into, const SendrecvEnvelope& envelope,
                   MPI_Request* request) {
  SHIM_TRY(check_output(request, "request"));
  p2p::Engine& engine = engine_of(*comm);
  p2p::Context& context = comm->context();
  const int dest = abi::to_p2p_rank(envelope.dest);
  // before the receive may write into it
  auto send_copied = [&] {
    return engine.isend_copied(context, sent.data, dest, envelope.send_tag);
  };
  auto send = [&] {
    return engine.isend(context, sent.data, dest, envelope.send_tag, p2p::SendMode::standard);
  };
  p2p::Request* copied = nullptr;
  if (sent.is_copied) {
    SHIM_TRY_ASSIGN(copied, send_copied());
  }
  auto receive = engine.irecv(context, into, abi::to_p2p_rank(envelope.source),
                              envelope.receive_tag);
  if (!receive) {
    p2p::Engine::release(copied);
    return std::move(receive).error();
  }
  auto started = sent.is_copied ? base::Result<p2p::Request*>(copied) : send();
  if (!started) {
    static_cast<void>(p2p::Engine::cancel(**receive));
    p2p::Engine::release(*receive);
    return std::move(started).error();
  }
  return make_request_handle(new PairRequest(*started, *receive), {comm, handle}, request);
}

struct Items {
  Count count;
  MPI_Datatype datatype;
};

int isendrecv(const char* function, const void* sendbuf, Items out, void* recvbuf, Items in,
              const SendrecvEnvelope& envelope, MPI_Comm handle, MPI_Request* request) {
  return run_with_handler(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, check_envelope(handle, envelope));
    types::ConstBuffer data;
    types::Buffer into;
    SHIM_TRY(get_buffer(data, sendbuf, out.count, out.datatype));
    SHIM_TRY(get_buffer(into, recvbuf, in.count, in.datatype));
    return start(comm, handle, {data, false}, into, envelope, request);
  });
}

int replace(const char* function, void* buf, Items items, const SendrecvEnvelope& envelope,
            MPI_Comm handle, MPI_Request* request) {
  return run_with_handler(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, check_envelope(handle, envelope));
    types::Buffer into;
    SHIM_TRY(get_buffer(into, buf, items.count, items.datatype));
    return start(comm, handle, {{into.address, into.count, into.type}, true}, into, envelope,
                 request);
  });
}

/// Pair a native receive with a send. Owns the receive; `begin_send` returns an error code. The
/// native library raises its own errors.
template <typename BeginSend>
int native_pair(const char* function, MPI_Comm comm, MPI_Request receive,
                NativeRequest::Memory kept, MPI_Request* request, BeginSend begin_send) {
  MPI_Request send = abi::predefined.request_null;
  if (int code = begin_send(&send)) {
    active_table.Cancel(&receive);
    active_table.Wait(&receive, MPI_STATUS_IGNORE);
    return code;
  }
  auto* pair = new NativeRequest;
  if (kept) pair->keep(std::move(kept));
  pair->add(receive);
  pair->add(send);
  return run_with_handler(Subject::comm(comm), function,
                          [&] { return make_request_handle(pair, {}, request); });
}

int native_isendrecv(const char* function, const void* sendbuf, int sendcount,
                     MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                     const SendrecvEnvelope& envelope, MPI_Comm comm, MPI_Request* request) {
  MPI_Request receive = abi::predefined.request_null;
  if (int code = active_table.Irecv(recvbuf, recvcount, recvtype, envelope.source,
                                    envelope.receive_tag, comm, &receive))
    return code;
  return native_pair(function, comm, receive, nullptr, request, [&](MPI_Request* send) {
    return active_table.Isend(sendbuf, sendcount, sendtype, envelope.dest, envelope.send_tag, comm,
                              send);
  });
}

/// Send the data packed (MPI-4.1 §5.2: it may be received with the type that it was packed from).
int native_replace(const char* function, void* buf, int count, MPI_Datatype datatype,
                   const SendrecvEnvelope& envelope, MPI_Comm comm, MPI_Request* request) {
  int capacity = 0, bytes = 0;
  if (int code = active_table.Pack_size(count, datatype, comm, &capacity)) return code;
  // never empty: some libraries reject a null pointer even for size 0
  auto packed = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(std::max(capacity, 1)));
  if (int code = active_table.Pack(buf, count, datatype, packed->data(), capacity, &bytes, comm))
    return code;
  MPI_Request receive = abi::predefined.request_null;
  if (int code = active_table.Irecv(buf, count, datatype, envelope.source, envelope.receive_tag,
                                    comm, &receive))
    return code;
  const MPI_Datatype type = abi::handle_of(*types::find_predefined("MPI_PACKED"));
  return native_pair(function, comm, receive, packed, request, [&](MPI_Request* send) {
    return active_table.Isend(packed->data(), bytes, type, envelope.dest, envelope.send_tag, comm,
                              send);
  });
}

}  // namespace

namespace impl {

int Isendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
              MPI_Comm comm, MPI_Request* request) {
  return isendrecv("MPI_Isendrecv", sendbuf, {sendcount, sendtype}, recvbuf, {recvcount, recvtype},
                   {dest, sendtag, source, recvtag}, comm, request);
}
int Isendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
                int recvtag, MPI_Comm comm, MPI_Request* request) {
  return isendrecv("MPI_Isendrecv_c", sendbuf, {sendcount, sendtype}, recvbuf,
                   {recvcount, recvtype}, {dest, sendtag, source, recvtag}, comm, request);
}
int Isendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                      int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  return replace("MPI_Isendrecv_replace", buf, {count, datatype}, {dest, sendtag, source, recvtag},
                 comm, request);
}
int Isendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                        int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  return replace("MPI_Isendrecv_replace_c", buf, {count, datatype},
                 {dest, sendtag, source, recvtag}, comm, request);
}

}  // namespace impl

namespace composed {

int Isendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
              MPI_Comm comm, MPI_Request* request) {
  return native_isendrecv("MPI_Isendrecv", sendbuf, sendcount, sendtype, recvbuf, recvcount,
                          recvtype, {dest, sendtag, source, recvtag}, comm, request);
}
int Isendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                      int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  return native_replace("MPI_Isendrecv_replace", buf, count, datatype,
                        {dest, sendtag, source, recvtag}, comm, request);
}

}  // namespace composed
}  // namespace shim::intercept
