// SPDX-License-Identifier: BSD-3-Clause
// SharedArea is the interface to the memory that processes of one node share. shim/bootstrap
// creates and owns it, shim/transport uses it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/base/result.hpp"

namespace shim::base {

/// Contains one slot, one store and one cell pool per process of the node, and one pair block per
/// ordered pair of processes (sender, receiver). Slots are small and adjacent, so that reading many
/// slots touches few pages. A store is the process's memory for collective segments and rendezvous;
/// a cell pool holds its long packets in transit. The two pair blocks of two processes are
/// adjacent, so that both directions can begin in one page. Memory is initially zero. Processes may
/// map it at different addresses.
class SharedArea {
 public:
  virtual ~SharedArea() = default;

  virtual std::uint32_t slot_count() const = 0;
  /// Slot of the calling process.
  virtual std::uint32_t own_slot() const = 0;

  virtual std::byte* slot(std::uint32_t index) = 0;
  virtual std::size_t slot_bytes() const = 0;
  virtual std::byte* store(std::uint32_t index) = 0;
  virtual std::size_t store_bytes() const = 0;
  virtual std::byte* cell_pool(std::uint32_t index) = 0;
  virtual std::size_t cell_pool_bytes() const = 0;
  /// Pair block for packets from the process of slot `from` to the process of slot `to`. If the
  /// area has pages and a > b, then pair(a, b) ends where pair(b, a) begins, in the middle of a
  /// page.
  virtual std::byte* pair(std::uint32_t from, std::uint32_t to) = 0;
  virtual std::size_t pair_bytes() const = 0;

  /// Back the pages of this range with memory, so that a full /dev/shm is an error here and not a
  /// SIGBUS at the first access. This process's slot is already backed; stores, cell pools and pair
  /// blocks are not. Errors: no_space, no_mem.
  virtual Status back(std::byte* begin, std::size_t bytes) = 0;
  /// Back and prefault memory that the caller can do without, and otherwise uses as a whole.
  /// Errors: as back(), and no_space if less space would remain free than the slots and pair blocks
  /// of all VCIs need.
  virtual Status back_spare(std::byte* begin, std::size_t bytes) = 0;
  /// Back the pair block from this process to the process of slot `index`, preferably on the
  /// receiver's NUMA node. Errors: as back().
  virtual Status back_pair_to(std::uint32_t index) = 0;

  /// True if the process of this slot has attached and not left. An acquire load: if true, the
  /// process's writes to its slot before it became ready are visible.
  virtual bool is_ready(std::uint32_t index) const = 0;
  /// True if the process of this slot still runs, as far as this node can detect, or has not
  /// attached yet.
  virtual bool is_alive(std::uint32_t index) const = 0;
  /// Return how often processes have attached to this slot. An acquire load: if the number has
  /// grown, the process of the earlier attachment accesses no shared memory any more.
  virtual std::uint32_t slot_generation(std::uint32_t index) const = 0;
  /// Return how many processes of the area compete, on average, for a core that this process may
  /// run on, as far as known.
  virtual double processes_per_core() const = 0;
  /// Return the pid of a process whose slot is or was ready, for cross-memory attach; 0 if the
  /// process is in another PID namespace.
  virtual std::int32_t pid(std::uint32_t index) const = 0;
};

}  // namespace shim::base
