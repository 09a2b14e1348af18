// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends, MPI-4.1 §3.4, §3.7.2 and §3.9: complete as soon as the message is copied.
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/buffer_pool.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

struct Message {
  const void* buf;
  Count count;
  MPI_Datatype datatype;
  int dest, tag;
};

/// A checked message on its communicator.
struct Checked {
  sessions::CommunicatorPtr comm;
  types::ConstBuffer data;
};

base::Result<Checked> check(const Message& message, MPI_Comm handle) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) return slow::no_comm(handle);
  types::ConstBuffer data;
  SHIM_TRY(take_buffer(data, message.buf, message.count, message.datatype));
  SHIM_TRY(check_destination(**comm, message.dest));
  SHIM_TRY(check_send_tag(message.tag));
  return Checked{*comm, data};
}

base::Status bsend(const Message& message, MPI_Comm handle) {
  SHIM_TRY_ASSIGN(Checked checked, check(message, handle));
  return buffer_for(*checked.comm)->send(checked.comm, checked.data, abi::to_p2p_rank(message.dest), message.tag);
}

int ibsend(const char* function, const Message& message, MPI_Comm handle, MPI_Request* request) {
  return deliver(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY(check_output(request, "request"));
    SHIM_TRY_ASSIGN(Checked checked, check(message, handle));
    SHIM_TRY(buffer_for(*checked.comm)->send(checked.comm, checked.data, abi::to_p2p_rank(message.dest), message.tag));
    return hand_out(nullptr, checked.comm, handle, request);
  });
}

/// Each start copies the message anew and is complete at once.
class PersistentBufferedSend final : public p2p::Request {
 public:
  PersistentBufferedSend(Checked message, int dest, int tag) : message_(std::move(message)), dest_(dest), tag_(tag) {
    make_persistent();
  }

 private:
  base::Status on_start() override {
    SHIM_TRY(buffer_for(*message_.comm)->send(message_.comm, message_.data, dest_, tag_));
    complete(p2p::Outcome{});
    return {};
  }
  Checked message_;
  types::TypePtr type_ = types::keep(*message_.data.type);
  int dest_, tag_;
};

int bsend_init(const char* function, const Message& message, MPI_Comm handle, MPI_Request* request) {
  return deliver(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY(check_output(request, "request"));
    SHIM_TRY_ASSIGN(Checked checked, check(message, handle));
    sessions::CommunicatorPtr comm = checked.comm;
    return hand_out(new PersistentBufferedSend(std::move(checked), abi::to_p2p_rank(message.dest), message.tag), comm, handle, request);
  });
}

}  // namespace

namespace ours {

int Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Bsend", [&] { return bsend({buf, count, datatype, dest, tag}, comm); });
}
int Bsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return deliver(Subject::comm(comm), "MPI_Bsend_c", [&] { return bsend({buf, count, datatype, dest, tag}, comm); });
}
int Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  return ibsend("MPI_Ibsend", {buf, count, datatype, dest, tag}, comm, request);
}
int Ibsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  return ibsend("MPI_Ibsend_c", {buf, count, datatype, dest, tag}, comm, request);
}
int Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  return bsend_init("MPI_Bsend_init", {buf, count, datatype, dest, tag}, comm, request);
}
int Bsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request* request) {
  return bsend_init("MPI_Bsend_init_c", {buf, count, datatype, dest, tag}, comm, request);
}

}  // namespace ours
}  // namespace shim::intercept
