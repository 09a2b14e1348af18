// SPDX-License-Identifier: BSD-3-Clause
// Implements buffered sends, MPI-4.1 §3.6. The engine makes the copies; the size of the user's
// buffer limits the bytes in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Engine request of a copied message.
using CopyPtr = std::shared_ptr<p2p::Request>;

/// A user's buffer and the copies in flight that count against it. All functions: any thread.
class BufferPool {
 public:
  struct Attached {
    void* address = nullptr;
    std::int64_t bytes = 0;
  };

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// Attach a buffer. Errors: buffer (one is attached already, or the address is null).
  base::Status attach(Attached buffer);
  std::optional<Attached> attached();
  /// Send a copy; its space is free again once the copy has left. Errors: buffer (no buffer, or too
  /// little space: the text has the free bytes), those of the engine.
  base::Status send(const sessions::CommunicatorPtr& comm, const types::ConstBuffer& data, int dest,
                    int tag);
  /// Send like send() and return the copy's request for MPI_Cancel. The caller must not keep the
  /// request longer than the communicator.
  base::Result<CopyPtr> send_cancellable(const sessions::CommunicatorPtr& comm,
                                         const types::ConstBuffer& data, int dest, int tag);
  /// Wait until all present copies have left (MPI_Buffer_flush).
  base::Status flush();
  /// Return the number of the last copy, and true if all copies up to a number have left
  /// (MPI_Buffer_iflush).
  std::uint64_t last_number();
  bool have_left(std::uint64_t number);
  /// Flush and detach the buffer; return nothing if there is none. Errors: those of the engine.
  base::Result<std::optional<Attached>> detach();

 private:
  /// A copy in flight.
  struct Copy {
    std::uint64_t number;
    std::int64_t bytes;
    sessions::CommunicatorPtr comm;  ///< keeps the engine alive until the copy has left
    CopyPtr request;
  };
  base::Result<p2p::Request*> begin(const sessions::CommunicatorPtr& comm,
                                    const types::ConstBuffer& data, int dest, int tag);
  CopyPtr keep(const sessions::CommunicatorPtr& comm, p2p::Request* request, std::int64_t bytes);
  base::Status reserve_bytes(std::int64_t bytes);
  void forget_done();
  bool have_left_locked(std::uint64_t number);
  base::Status flush_locked(std::unique_lock<std::mutex>& lock, std::uint64_t number);

  std::mutex mutex_;
  std::optional<Attached> buffer_;
  std::int64_t used_ = 0;
  std::uint64_t last_number_ = 0;
  std::vector<Copy> copies_;  ///< in ascending order of number
};
using BufferPoolPtr = std::shared_ptr<BufferPool>;

/// Return the process's pool (MPI_Buffer_attach).
const BufferPoolPtr& process_buffer();

/// Pools of communicators and sessions by the address of the object, while a buffer is attached.
class ObjectBuffers {
 public:
  BufferPoolPtr find(const void* owner);
  BufferPoolPtr find_or_make(const void* owner);
  /// Remove the pool when its object is destroyed or its buffer detached. The engine keeps the
  /// copies in flight.
  void forget(const void* owner);

 private:
  std::mutex mutex_;
  /// Relaxed: a thread that attaches a buffer and threads that send through it synchronise
  /// otherwise.
  std::atomic<std::size_t> count_{0};
  std::unordered_map<const void*, BufferPoolPtr> pools_;
};
ObjectBuffers& object_buffers();

/// Return the pool that a send on this communicator uses: the communicator's, else the session's,
/// else the process's (MPI-4.1 §3.6).
BufferPoolPtr buffer_for(const sessions::Communicator& comm);

/// Attach the buffer that the user attached earlier to the substrate, which has just started
/// (buffer.cpp).
void attach_native_buffer();

/// Return the space that a message needs in a buffer: packed size and MPI_BSEND_OVERHEAD (MPI-4.1
/// §3.6).
std::int64_t buffer_bytes(const types::ConstBuffer& data) noexcept;

}  // namespace shim::intercept
