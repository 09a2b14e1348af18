// SPDX-License-Identifier: BSD-3-Clause
// Implements buffered sends, which are complete once the message is copied (MPI-4.1 §3.4, §3.7.2,
// §3.9).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/p2p/buffer_pool.hpp"

namespace shim::intercept {
namespace {

struct BsendArguments {
  const void* buf;
  Count count;
  MPI_Datatype datatype;
  int dest, tag;
};

/// A checked message and its communicator.
struct CheckedSend {
  sessions::CommunicatorPtr comm;
  types::ConstBuffer data;
};

base::Result<CheckedSend> check(const BsendArguments& message, MPI_Comm handle) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) return slow::no_comm(handle);
  types::ConstBuffer data;
  SHIM_TRY(get_buffer(data, message.buf, message.count, message.datatype));
  SHIM_TRY(check_destination(**comm, message.dest));
  SHIM_TRY(check_send_tag(message.tag));
  return CheckedSend{*comm, data};
}

base::Status bsend(const BsendArguments& message, MPI_Comm handle) {
  SHIM_TRY_ASSIGN(CheckedSend checked, check(message, handle));
  return buffer_for(*checked.comm)
      ->send(checked.comm, checked.data, abi::to_p2p_rank(message.dest), message.tag);
}

/// Complete once the message is copied. If it is cancelled before that is reported, complete once
/// the copy is cancelled or cannot be cancelled any more.
class BufferedSend : public PolledRequest {
 public:
  explicit BufferedSend(sessions::CommunicatorPtr comm) : comm_(std::move(comm)) {}

  int describe(MPI_Status* status) final {
    abi::write_status(status, outcome());
    return MPI_SUCCESS;
  }
  int cancel() final {
    std::lock_guard lock(mutex_);
    if (!is_active()) return MPI_SUCCESS;
    static_cast<void>(p2p::Engine::cancel(*copy_));
    if (is_done()) reopen();
    return MPI_SUCCESS;
  }
  void advance() final {
    std::lock_guard lock(mutex_);
    if (is_done() || !copy_->is_done()) return;
    const base::Error* error = copy_->error();
    complete(copy_->outcome(), error != nullptr ? std::optional(error->clone()) : std::nullopt);
  }
  void detach() final { delete this; }

 protected:
  void is_copied_as(CopyPtr copy) {
    copy_ = std::move(copy);
    complete(p2p::MessageStatus{});
  }

 private:
  std::mutex mutex_;
  sessions::CommunicatorPtr comm_;  ///< outlives the copy
  CopyPtr copy_;
};

class CopiedSend final : public BufferedSend {
 public:
  CopiedSend(sessions::CommunicatorPtr comm, CopyPtr copy) : BufferedSend(std::move(comm)) {
    is_copied_as(std::move(copy));
  }
};

int ibsend(const char* function, const BsendArguments& message, MPI_Comm handle,
           MPI_Request* request) {
  return run_with_handler(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY(check_output(request, "request"));
    SHIM_TRY_ASSIGN(CheckedSend checked, check(message, handle));
    SHIM_TRY_ASSIGN(auto copy, buffer_for(*checked.comm)
                                   ->send_cancellable(checked.comm, checked.data,
                                                      abi::to_p2p_rank(message.dest), message.tag));
    return make_request_handle(new CopiedSend(checked.comm, std::move(copy)),
                               {checked.comm, handle}, request);
  });
}

/// Each start copies the message again.
class PersistentBufferedSend final : public BufferedSend {
 public:
  PersistentBufferedSend(CheckedSend message, int dest, int tag)
      : BufferedSend(message.comm), message_(std::move(message)), dest_(dest), tag_(tag) {
    make_persistent();
  }

 private:
  base::Status on_start() override {
    SHIM_TRY_ASSIGN(
        auto copy,
        buffer_for(*message_.comm)->send_cancellable(message_.comm, message_.data, dest_, tag_));
    is_copied_as(std::move(copy));
    return {};
  }
  CheckedSend message_;
  types::TypePtr type_ = types::keep(*message_.data.type);
  int dest_, tag_;
};

int bsend_init(const char* function, const BsendArguments& message, MPI_Comm handle,
               MPI_Request* request) {
  return run_with_handler(Subject::comm(handle), function, [&]() -> base::Status {
    SHIM_TRY(check_output(request, "request"));
    SHIM_TRY_ASSIGN(CheckedSend checked, check(message, handle));
    const CommReference on{checked.comm, handle};
    return make_request_handle(
        new PersistentBufferedSend(std::move(checked), abi::to_p2p_rank(message.dest), message.tag),
        on, request);
  });
}

}  // namespace

namespace impl {

int Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPI_Bsend", [&] {
    return bsend({buf, count, datatype, dest, tag}, comm);
  });
}
int Bsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPI_Bsend_c", [&] {
    return bsend({buf, count, datatype, dest, tag}, comm);
  });
}
int Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return ibsend("MPI_Ibsend", {buf, count, datatype, dest, tag}, comm, request);
}
int Ibsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm, MPI_Request* request) {
  return ibsend("MPI_Ibsend_c", {buf, count, datatype, dest, tag}, comm, request);
}
int Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return bsend_init("MPI_Bsend_init", {buf, count, datatype, dest, tag}, comm, request);
}
int Bsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return bsend_init("MPI_Bsend_init_c", {buf, count, datatype, dest, tag}, comm, request);
}

}  // namespace impl
}  // namespace shim::intercept
