// SPDX-License-Identifier: BSD-3-Clause
// Space for buffered sends, MPI-4.1 §3.6. The copies themselves are the engine's; the user's buffer says how many bytes of
// them may be on their way at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/intercept/objects.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// The engine's request for a copied message.
using CopyPtr = std::shared_ptr<p2p::Request>;

/// All functions from any thread.
class BufferPool {
 public:
  struct Attached {
    void* address = nullptr;
    std::int64_t bytes = 0;
  };

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// Errors: buffer (one is attached already, or the address is null).
  base::Status attach(Attached buffer);
  std::optional<Attached> attached();
  /// Sends a copy; its space is free again once the copy has left. Errors: buffer (no buffer, or no room: says how much is
  /// free), those of the engine.
  base::Status send(const sessions::CommunicatorPtr& comm, const types::ConstBuffer& data, int dest, int tag);
  /// The same, and the copy's request for whoever may want it back (MPI_Cancel), who must not outlive the communicator with it.
  base::Result<CopyPtr> send_cancellable(const sessions::CommunicatorPtr& comm, const types::ConstBuffer& data, int dest, int tag);
  /// Waits until all copies that are in it now have left (MPI_Buffer_flush).
  base::Status flush();
  /// The number of the last copy that was put into it, and whether all up to that one have left (MPI_Buffer_iflush).
  std::uint64_t last_number();
  bool have_left(std::uint64_t number);
  /// The same, and takes the buffer off; nothing where there is none. Errors: those of the engine.
  base::Result<std::optional<Attached>> detach();

 private:
  /// A copy on its way.
  struct Copy {
    std::uint64_t number;
    std::int64_t bytes;
    sessions::CommunicatorPtr comm;  ///< whose engine it is, kept alive until the copy has left
    CopyPtr request;
  };
  base::Result<p2p::Request*> begin(const sessions::CommunicatorPtr& comm, const types::ConstBuffer& data, int dest, int tag);
  CopyPtr keep(const sessions::CommunicatorPtr& comm, p2p::Request* request, std::int64_t bytes);
  base::Status make_room(std::int64_t bytes);
  void forget_done();
  bool have_left_locked(std::uint64_t number);
  base::Status flush_locked(std::unique_lock<std::mutex>& lock, std::uint64_t number);

  std::mutex mutex_;
  std::optional<Attached> buffer_;
  std::int64_t used_ = 0;
  std::uint64_t last_number_ = 0;
  std::vector<Copy> copies_;  ///< in the order of their numbers
};
using BufferPoolPtr = std::shared_ptr<BufferPool>;

/// The one of the process (MPI_Buffer_attach).
const BufferPoolPtr& process_buffer();

/// The buffers of communicators and sessions, by the address of the object; there while one is attached.
class ObjectBuffers {
 public:
  BufferPoolPtr find(const void* owner);
  BufferPoolPtr find_or_make(const void* owner);
  /// Its object goes, or has no buffer any more. What is on its way is the engine's.
  void forget(const void* owner);

 private:
  std::mutex mutex_;
  std::atomic<std::size_t> count_{0};  ///< relaxed: who attaches a buffer and who sends through it have synchronised otherwise
  std::unordered_map<const void*, BufferPoolPtr> pools_;
};
ObjectBuffers& object_buffers();

/// The buffer that a send on this communicator uses: the communicator's, else its session's, else the process's (MPI-4.1 §3.6).
BufferPoolPtr buffer_for(const sessions::Communicator& comm);

/// The substrate has started: it gets the buffer that was attached before. (bodies/buffer.cpp)
void attach_below();

/// What a message takes of a buffer (MPI-4.1 §3.6: its packed size and MPI_BSEND_OVERHEAD).
std::int64_t buffer_bytes(const types::ConstBuffer& data) noexcept;

}  // namespace shim::intercept
