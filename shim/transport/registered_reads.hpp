// SPDX-License-Identifier: BSD-3-Clause
// RegisteredReads reads memory that its owner has registered for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Memory of a process that another process may read.
struct RemoteMemory {
  std::uint64_t address = 0;  ///< in its owner's address space; 0: not readable
  std::uint64_t key = 0;      ///< registration key of the owner's transport
};

/// Registration of local memory that another process may read during this object's lifetime.
class MemoryRegistration {
 public:
  virtual ~MemoryRegistration() = default;
  virtual RemoteMemory memory() const = 0;
};

/// A pending read of another process's memory. The destructor guarantees that no more data is
/// written into local memory, and may wait up to 2 s for that.
class Read {
 public:
  virtual ~Read() = default;
  /// Make progress and return the number of bytes read; the transport must be polled as well. Bytes
  /// arrive in any order, so the data is valid only once all have arrived. Errors: proc_aborted
  /// (the peer is known to be gone), other.
  virtual base::Result<std::size_t> progress() = 0;
};

/// Optional interface.
class RegisteredReads {
 public:
  /// Register this memory, so that the link's process can read it; null if not possible.
  virtual std::unique_ptr<MemoryRegistration> offer(Link& link, ConstSpan memory) = 0;
  /// Begin to read memory offered by the link's process, as many bytes as `into` holds; null if not
  /// possible.
  virtual std::unique_ptr<Read> begin_read(Link& link, const RemoteMemory& from,
                                           std::span<std::byte> into) = 0;

 protected:
  ~RegisteredReads() = default;
};

}  // namespace shim::transport
