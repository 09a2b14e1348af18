// SPDX-License-Identifier: BSD-3-Clause
// Space for buffered sends, MPI-4.1 §3.6. The copies themselves are the engine's; the user's buffer says how many bytes of
// them may be on their way at a time.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/intercept/objects.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// All functions from any thread.
class BufferPool {
 public:
  struct Attached {
    void* address = nullptr;
    std::int64_t bytes = 0;
  };

  /// Errors: buffer (one is attached already, or the address is null).
  base::Status attach(Attached buffer);
  std::optional<Attached> attached();
  /// Sends a copy; its space is free again once the copy has left. Errors: buffer (no buffer, or no room: says how much is
  /// free), those of the engine.
  base::Status send(const sessions::CommunicatorPtr& comm, const types::ConstBuffer& data, int dest, int tag);
  /// Waits until all copies have left (MPI_Buffer_flush).
  base::Status flush();
  /// The same, and takes the buffer off; nothing where there is none. Errors: those of the engine.
  base::Result<std::optional<Attached>> detach();

 private:
  /// A copy on its way.
  struct Copy {
    p2p::Request* request;
    std::int64_t bytes;
    sessions::CommunicatorPtr comm;  ///< whose engine it is, kept alive until the copy has left
  };
  void forget_done();
  base::Status flush_locked(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::optional<Attached> buffer_;
  std::int64_t used_ = 0;
  std::vector<Copy> copies_;
};

/// The one of the process (MPI_Buffer_attach).
BufferPool& process_buffer();

/// The substrate has started: it gets the buffer that was attached before. (bodies/buffer.cpp)
void attach_below();

/// What a message takes of a buffer (MPI-4.1 §3.6: its packed size and MPI_BSEND_OVERHEAD).
std::int64_t buffer_bytes(const types::ConstBuffer& data) noexcept;

}  // namespace shim::intercept
