// SPDX-License-Identifier: BSD-3-Clause
// Receives messages of matched probes, MPI-4.1 §3.8.3.
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {
namespace {

/// A message of ours, its buffer checked and its handle consumed.
struct ConsumedMessage {
  MessageObject message;
  types::Buffer into;
};

base::Result<ConsumedMessage> take(void* buf, Count count, MPI_Datatype datatype,
                                   MPI_Message* handle) {
  types::Buffer into;
  SHIM_TRY(get_buffer(into, buf, count, datatype));
  auto message = objects.messages.take(*handle);
  if (!message) return std::move(message_of(*handle)).error();
  *handle = abi::predefined.message_null;
  return ConsumedMessage{std::move(*message), into};
}

CommReference communicator_of(MPI_Message handle) {
  MessageObject* message = objects.messages.find(handle);
  return message != nullptr ? message->on : CommReference{};
}

int mrecv(const char* function, void* buf, Count count, MPI_Datatype datatype, MPI_Message* handle,
          MPI_Status* status) {
  return run_with_handler(communicator_of(*handle), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(ConsumedMessage taken, take(buf, count, datatype, handle));
    SHIM_TRY_ASSIGN(p2p::MessageStatus outcome,
                    engine_of(*taken.message.on.comm).mrecv(taken.message.message, taken.into));
    abi::write_status(status, outcome);
    return {};
  });
}

int imrecv(const char* function, void* buf, Count count, MPI_Datatype datatype, MPI_Message* handle,
           MPI_Request* request) {
  return run_with_handler(communicator_of(*handle), function, [&]() -> base::Status {
    SHIM_TRY(check_output(request, "request"));
    SHIM_TRY_ASSIGN(ConsumedMessage taken, take(buf, count, datatype, handle));
    CommReference& on = taken.message.on;
    SHIM_TRY_ASSIGN(p2p::Request * started,
                    engine_of(*on.comm).imrecv(taken.message.message, taken.into));
    return make_request_handle({.request = started,
                                .comm = on.comm.get(),
                                .handle = on.handle,
                                .kept = kept_by_request(on.comm)},
                               request);  // its handle may be freed
  });
}

/// Take MPI_MESSAGE_NO_PROC, the substrate's object, which our probes return, too.
base::Status consume_no_proc(MPI_Message* handle) {
  SHIM_TRY(check_output(handle, "message"));
  if (*handle != abi::predefined.message_no_proc) return std::move(message_of(*handle)).error();
  *handle = abi::predefined.message_null;
  return {};
}

int inactive_mrecv(const char* function, MPI_Message* handle, MPI_Status* status) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(consume_no_proc(handle));
    abi::write_status(status, kNothing);
    return {};
  });
}

int inactive_imrecv(const char* function, MPI_Message* handle, MPI_Request* request) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(request, "request"));
    SHIM_TRY(consume_no_proc(handle));
    return make_request_handle(nullptr, nullptr, abi::predefined.comm_null, request);
  });
}

}  // namespace

namespace impl {

int Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status) {
  return mrecv("MPI_Mrecv", buf, count, datatype, message, status);
}
int Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
            MPI_Status* status) {
  return mrecv("MPI_Mrecv_c", buf, count, datatype, message, status);
}
int Imrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
           MPI_Request* request) {
  return imrecv("MPI_Imrecv", buf, count, datatype, message, request);
}
int Imrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
             MPI_Request* request) {
  return imrecv("MPI_Imrecv_c", buf, count, datatype, message, request);
}

}  // namespace impl

namespace impl_when_inactive {

int Mrecv(void*, int, MPI_Datatype, MPI_Message* message, MPI_Status* status) {
  return inactive_mrecv("MPI_Mrecv", message, status);
}
int Mrecv_c(void*, MPI_Count, MPI_Datatype, MPI_Message* message, MPI_Status* status) {
  return inactive_mrecv("MPI_Mrecv_c", message, status);
}
int Imrecv(void*, int, MPI_Datatype, MPI_Message* message, MPI_Request* request) {
  return inactive_imrecv("MPI_Imrecv", message, request);
}
int Imrecv_c(void*, MPI_Count, MPI_Datatype, MPI_Message* message, MPI_Request* request) {
  return inactive_imrecv("MPI_Imrecv_c", message, request);
}

}  // namespace impl_when_inactive
}  // namespace shim::intercept
