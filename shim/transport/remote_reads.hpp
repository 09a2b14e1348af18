// SPDX-License-Identifier: BSD-3-Clause
// RemoteReads reads the memory of another process without its participation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Optional interface. The other process must have sent the address to this one; it registers
/// nothing. A transport has this interface or RegisteredReads, not both.
class RemoteReads {
 public:
  /// Read bytes from the other process's memory (address in its address space) into local memory.
  /// unsupported: the kernel or the fabric forbids it.
  virtual base::Result<Attempt> try_read(Link& link, std::uint64_t remote_address,
                                         std::span<std::byte> into) = 0;
  /// Read into several pieces, one after the other; the result is for all of them.
  virtual base::Result<Attempt> try_read_pieces(Link& link, std::uint64_t remote_address,
                                                std::span<const std::span<std::byte>> into) {
    for (const std::span<std::byte> piece : into) {
      auto read = try_read(link, remote_address, piece);
      if (!read || *read != Attempt::done) return read;
      remote_address += piece.size();
    }
    return Attempt::done;
  }

 protected:
  ~RemoteReads() = default;
};

}  // namespace shim::transport
