// SPDX-License-Identifier: BSD-3-Clause
// Single-copy reads out of another process of the node, and writes into it: process_vm_readv(2), and the care it needs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "shim/transport/shm/slot.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// The private number by which others check that a process id means us: in another pid namespace the same id is another
/// process, and reading that one's memory would go unnoticed. Lives as long as the transport.
class Probe {
 public:
  /// Draws the number and writes it into our slot.
  explicit Probe(SlotMemory& own);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

 private:
  std::uint64_t value_;
};

/// Room for what is not copied straight, of all peers of a process. Memory is taken when there first is such.
class RoundaboutRoom {
 public:
  static constexpr std::size_t kBytes = 64 * 1024;  ///< little enough to stay in a core's second cache
  /// So many bytes half a page off from this address, pages left aside; null where there is no memory.
  std::byte* beside(std::uint64_t address);

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// Another process's memory, as far as the kernel lets us see it. What it once refused is not asked again.
class PeerMemory {
 public:
  PeerMemory() = default;

  /// Into one piece of ours after the other. unsupported: the kernel does not allow it (ptrace access, see ptrace(2) on Yama), or the process id is not this peer's
  /// from where we are. Errors: proc_aborted (no such process any more), other (not its memory).
  base::Result<Attempt> read(pid_t pid, const SlotMemory& slot, std::uint64_t address, std::span<const std::span<std::byte>> into, RoundaboutRoom& room);
  /// The same the other way. The caller knows that the process lives: its id may soon be another's.
  base::Result<Attempt> write(pid_t pid, const SlotMemory& slot, std::uint64_t address, ConstSpan from, RoundaboutRoom& room);

 private:
  bool is_allowed(pid_t pid, const SlotMemory& slot);
  base::Result<Attempt> outcome(int failure, pid_t pid, std::size_t bytes);
  enum class State : std::uint8_t { unknown, allowed, refused } state_ = State::unknown;
};

}  // namespace shim::transport
