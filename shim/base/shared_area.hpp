// SPDX-License-Identifier: BSD-3-Clause
// Memory that the processes of one node share, as seen by those who use it; who makes and keeps it is another room's affair.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/base/result.hpp"

namespace shim::base {

/// A shared area is divided into one slot, one store and one depot per process of the node and one block per ordered pair of processes. Slots
/// are small, and lie side by side, so that who looks at many processes' touches few pages; stores are for more, depots for what is long and
/// on its way. The two blocks of two processes lie side by side, so that what both directions need first can be in one page.
/// All memory is zero when first seen. The same bytes may be mapped at different addresses in different processes.
class SharedArea {
 public:
  virtual ~SharedArea() = default;

  virtual std::uint32_t slot_count() const = 0;
  /// The caller's own slot.
  virtual std::uint32_t own_slot() const = 0;

  virtual std::byte* slot(std::uint32_t index) = 0;
  virtual std::size_t slot_bytes() const = 0;
  virtual std::byte* store(std::uint32_t index) = 0;
  virtual std::size_t store_bytes() const = 0;
  virtual std::byte* depot(std::uint32_t index) = 0;
  virtual std::size_t depot_bytes() const = 0;
  /// Where the area has pages, the block of from > to ends where that of the other direction begins, in the middle of one.
  virtual std::byte* pair(std::uint32_t from, std::uint32_t to) = 0;
  virtual std::size_t pair_bytes() const = 0;

  /// Backs the pages of this range with memory, so that a full /dev/shm is an error here and not a SIGBUS at the first touch.
  /// The own slot is backed already; stores, depots and pair blocks are not. Errors: no_space, no_mem.
  virtual Status back(std::byte* begin, std::size_t bytes) = 0;
  /// As back(), for what is not needed, and is about to be used as a whole: no_space as well where that would leave less free than all pair blocks may come to need.
  virtual Status back_spare(std::byte* begin, std::size_t bytes) = 0;
  /// As back(), the pair block from the own slot to that one, where the process of that slot, which reads it, has it near.
  virtual Status back_pair_to(std::uint32_t index) = 0;

  /// Has the process of this slot attached (and not left)? Acquire: what it wrote into its slot before is visible then.
  virtual bool is_ready(std::uint32_t index) const = 0;
  /// Is the process of this slot still running, as far as this node can tell? True for one that has not attached yet.
  virtual bool is_alive(std::uint32_t index) const = 0;
  /// How many processes of the area there are for each core that this one may run on, as far as is known by now.
  virtual double processes_per_core() const = 0;
  /// The operating system's process id of a slot that is or was ready; for single-copy transfers.
  /// 0 where it means nothing here, because that process lives in another PID namespace.
  virtual std::int32_t pid(std::uint32_t index) const = 0;
};

}  // namespace shim::base
