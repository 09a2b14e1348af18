// SPDX-License-Identifier: BSD-3-Clause
// PeerMemory reads and writes memory of another process of the node with a single copy.
//
// It uses process_vm_readv(2) and process_vm_writev(2), and checks the process id first.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "shim/node/slot.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// A private random number by which peers check that a process id refers to this process. In
/// another pid namespace an equal id is another process, and reading that process would go
/// unnoticed. Lives as long as the transport.
class Probe {
 public:
  /// Draw the number and write it into the local slot.
  explicit Probe(node::SlotMemory& own);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

 private:
  std::uint64_t value_;
};

/// Buffer for indirect copies of all peers of a process; allocated at first use.
class BounceBuffer {
 public:
  /// Small enough to stay in a core's second-level cache.
  static constexpr std::size_t kBytes = 64 * 1024;
  /// Return kBytes whose page offset differs by half a page from this address; null if there is no
  /// memory.
  std::byte* at_other_offset(std::uint64_t address);

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// Memory of another process, as far as the kernel permits access. A refused access is not retried.
class PeerMemory {
 public:
  PeerMemory() = default;

  /// Read into the pieces, one after the other. unsupported: the kernel forbids it (ptrace access,
  /// see ptrace(2) on Yama), or the process id is not this peer's in our pid namespace. Errors:
  /// proc_aborted (its main thread has ended, and so mostly the process), other (not its memory).
  base::Result<Attempt> read(pid_t pid, const node::SlotMemory& slot, std::uint64_t address,
                             std::span<const std::span<std::byte>> into, BounceBuffer& bounce);
  /// Write. The caller ensures that the process lives, because its id may soon be reused.
  base::Result<Attempt> write(pid_t pid, const node::SlotMemory& slot, std::uint64_t address,
                              ConstSpan from, BounceBuffer& bounce);

 private:
  bool is_allowed(pid_t pid, const node::SlotMemory& slot);
  base::Result<Attempt> result_of(int failure, pid_t pid, std::size_t bytes);
  enum class Permission : std::uint8_t {
    unknown,
    allowed,
    refused
  } permission_ = Permission::unknown;
};

}  // namespace shim::transport
