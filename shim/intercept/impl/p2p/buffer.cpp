// SPDX-License-Identifier: BSD-3-Clause
// Implements buffers for buffered sends of communicators, sessions and the process (MPI-4.1 §3.6).
// Intersession copies into its own memory and only counts against the user's buffer; the process's
// buffer is attached to the substrate, too.
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/p2p/buffer_pool.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// True if the substrate can use the buffer: it has no MPI_BUFFER_AUTOMATIC, and int sizes.
bool can_attach_natively(const BufferPool::Attached& buffer) {
  return is_active() && buffer.address != MPI_BUFFER_AUTOMATIC && buffer.bytes <= 0x7fffffff;
}

base::Status attach(BufferPool& pool, const BufferPool::Attached& buffer) {
  if (buffer.bytes < 0)
    return Error(ErrorClass::arg, "the size " + std::to_string(buffer.bytes) + " is negative");
  return pool.attach(buffer);
}

int attach_to_process(const char* function, void* address, Count size) {
  BufferPool::Attached buffer{address, size};
  int code = run_with_handler(Subject(), function,
                              [&] { return attach(*process_buffer(), buffer); });
  if (code != MPI_SUCCESS || !can_attach_natively(buffer)) return code;
  code = active_table.Buffer_attach(address, static_cast<int>(size));
  if (code != MPI_SUCCESS) static_cast<void>(process_buffer()->detach());  // not used for sends yet
  return code;
}

/// Output arguments of a detach.
template <typename Size>
struct DetachOutput {
  void* address;
  Size* size;
};

template <typename Size>
base::Result<BufferPool::Attached> detach(BufferPool* pool, const DetachOutput<Size>& output) {
  SHIM_TRY(check_output(output.address, "buffer address"));
  SHIM_TRY(check_output(output.size, "buffer size"));
  std::optional<BufferPool::Attached> buffer;
  if (pool != nullptr) {
    SHIM_TRY_ASSIGN(buffer, pool->detach());
  }
  if (!buffer) return Error(ErrorClass::buffer, "no buffer is attached");
  *static_cast<void**>(output.address) = buffer->address;
  *output.size = static_cast<Size>(buffer->bytes);
  return *buffer;
}

template <typename Size>
int detach_from_process(const char* function, const DetachOutput<Size>& output) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(auto buffer, detach(process_buffer().get(), output));
    void* native_address = nullptr;
    int bytes = 0;
    if (can_attach_natively(buffer))
      active_table.Buffer_detach(&native_address,
                                 &bytes);  // waits for the substrate's own buffered sends
    return {};
  });
}

/// Flush by detaching, because the substrate has no flush.
void flush_native_buffer() {
  auto buffer = process_buffer()->attached();
  if (!buffer || !can_attach_natively(*buffer)) return;
  void* address = nullptr;
  int bytes = 0;
  if (active_table.Buffer_detach(&address, &bytes) == MPI_SUCCESS)
    active_table.Buffer_attach(address, bytes);
}

/// Completes once all messages in the buffer at creation have left. (Does not include the
/// substrate's, which only MPI_Buffer_flush can wait for.)
class FlushRequest final : public PolledRequest {
 public:
  explicit FlushRequest(BufferPoolPtr pool)
      : pool_(std::move(pool)), number_(pool_ ? pool_->last_number() : 0) {}
  void advance() override {
    std::lock_guard lock(mutex_);
    if (!is_done() && (!pool_ || pool_->have_left(number_))) complete(p2p::MessageStatus{});
  }
  int describe(MPI_Status* status) override {
    abi::write_empty_status(status);
    return MPI_SUCCESS;
  }
  void detach() override { delete this; }

 private:
  std::mutex mutex_;
  BufferPoolPtr pool_;
  std::uint64_t number_;
};

base::Status flush_later(BufferPoolPtr pool, const CommReference& on, MPI_Request* request) {
  SHIM_TRY(check_output(request, "request"));
  return make_request_handle(new FlushRequest(std::move(pool)), on, request);
}

/// Common interface of communicators and sessions: error handler, and address that identifies the
/// buffer.
struct CommOwner {
  MPI_Comm handle;
  Subject subject() const { return Subject::comm(handle); }
  base::Result<sessions::CommunicatorPtr> find() const { return get_comm(handle); }
};
struct SessionOwner {
  MPI_Session handle;
  Subject subject() const { return Subject::session(handle); }
  base::Result<sessions::SessionPtr> find() const { return session_of(handle); }
};

template <typename Owner>
int attach_to(const char* function, const Owner& owner, void* address, Count size) {
  return run_with_handler(owner.subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(auto object, owner.find());
    BufferPoolPtr pool = object_buffers().find_or_make(object.get());
    base::Status attached = attach(*pool, {address, size});
    if (!pool->attached()) object_buffers().forget(object.get());
    return attached;
  });
}

template <typename Owner, typename Size>
int detach_from(const char* function, const Owner& owner, const DetachOutput<Size>& output) {
  return run_with_handler(owner.subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(auto object, owner.find());
    SHIM_TRY(detach(object_buffers().find(object.get()).get(), output));
    object_buffers().forget(object.get());
    return {};
  });
}

template <typename Owner>
int flush_of(const char* function, const Owner& owner) {
  return run_with_handler(owner.subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(auto object, owner.find());
    auto pool = object_buffers().find(object.get());
    return pool ? pool->flush() : base::Status{};
  });
}

}  // namespace

void attach_native_buffer() {
  auto buffer = process_buffer()->attached();
  if (buffer && can_attach_natively(*buffer))
    active_table.Buffer_attach(buffer->address, static_cast<int>(buffer->bytes));
}

namespace impl {

int Buffer_attach(void* buffer, int size) {
  return attach_to_process("MPI_Buffer_attach", buffer, size);
}
int Buffer_attach_c(void* buffer, MPI_Count size) {
  return attach_to_process("MPI_Buffer_attach_c", buffer, size);
}
int Buffer_detach(void* buffer_addr, int* size) {
  return detach_from_process("MPI_Buffer_detach", DetachOutput<int>{buffer_addr, size});
}
int Buffer_detach_c(void* buffer_addr, MPI_Count* size) {
  return detach_from_process("MPI_Buffer_detach_c", DetachOutput<MPI_Count>{buffer_addr, size});
}
int Buffer_flush() {
  return run_with_handler(Subject(), "MPI_Buffer_flush", [&]() -> base::Status {
    SHIM_TRY(process_buffer()->flush());
    flush_native_buffer();
    return {};
  });
}
int Buffer_iflush(MPI_Request* request) {
  return run_with_handler(Subject(), "MPI_Buffer_iflush",
                          [&] { return flush_later(process_buffer(), {}, request); });
}

int Comm_attach_buffer(MPI_Comm comm, void* buffer, int size) {
  return attach_to("MPI_Comm_attach_buffer", CommOwner{comm}, buffer, size);
}
int Comm_attach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count size) {
  return attach_to("MPI_Comm_attach_buffer_c", CommOwner{comm}, buffer, size);
}
int Comm_detach_buffer(MPI_Comm comm, void* buffer_addr, int* size) {
  return detach_from("MPI_Comm_detach_buffer", CommOwner{comm},
                     DetachOutput<int>{buffer_addr, size});
}
int Comm_detach_buffer_c(MPI_Comm comm, void* buffer_addr, MPI_Count* size) {
  return detach_from("MPI_Comm_detach_buffer_c", CommOwner{comm},
                     DetachOutput<MPI_Count>{buffer_addr, size});
}
int Comm_flush_buffer(MPI_Comm comm) { return flush_of("MPI_Comm_flush_buffer", CommOwner{comm}); }
int Comm_iflush_buffer(MPI_Comm comm, MPI_Request* request) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_iflush_buffer", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    return flush_later(object_buffers().find(found.get()), {found, comm}, request);
  });
}

int Session_attach_buffer(MPI_Session session, void* buffer, int size) {
  return attach_to("MPI_Session_attach_buffer", SessionOwner{session}, buffer, size);
}
int Session_attach_buffer_c(MPI_Session session, void* buffer, MPI_Count size) {
  return attach_to("MPI_Session_attach_buffer_c", SessionOwner{session}, buffer, size);
}
int Session_detach_buffer(MPI_Session session, void* buffer_addr, int* size) {
  return detach_from("MPI_Session_detach_buffer", SessionOwner{session},
                     DetachOutput<int>{buffer_addr, size});
}
int Session_detach_buffer_c(MPI_Session session, void* buffer_addr, MPI_Count* size) {
  return detach_from("MPI_Session_detach_buffer_c", SessionOwner{session},
                     DetachOutput<MPI_Count>{buffer_addr, size});
}
int Session_flush_buffer(MPI_Session session) {
  return flush_of("MPI_Session_flush_buffer", SessionOwner{session});
}
int Session_iflush_buffer(MPI_Session session, MPI_Request* request) {
  return run_with_handler(Subject::session(session), "MPI_Session_iflush_buffer",
                          [&]() -> base::Status {
                            SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
                            return flush_later(object_buffers().find(found.get()), {}, request);
                          });
}

}  // namespace impl
}  // namespace shim::intercept
