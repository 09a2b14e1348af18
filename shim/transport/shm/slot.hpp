// SPDX-License-Identifier: BSD-3-Clause
// What lies in a process's slot of the shared area: how to wake it, who writes to it, and how to tell that a process id is its.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "shim/base/shared_area.hpp"
#include "shim/transport/shm/ring.hpp"
#include "shim/transport/wake.hpp"

namespace shim::transport {

/// Zero is the right initial state but for the probe.
struct SlotMemory {
  /// For senders that wake this process.
  alignas(kLine) WakeWords wake;
  /// A number in this process's private memory and where it lies; see PeerMemory. Written before the process is ready.
  std::uint64_t probe_address;
  std::uint64_t probe_value;
  /// Grows whenever somebody writes to this process for the first time.
  alignas(kLine) std::atomic<std::uint64_t> contact_version;

  /// The words that follow this structure, as many as the area's slots need. Bit i of word w: the process of slot 64*w+i writes
  /// to this one. A set of bits and not a list, so that a sender that attaches again, or dies in between, leaves nothing half
  /// done.
  std::atomic<std::uint64_t>& contacts(std::size_t word) {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1)[word];
  }

  static std::size_t words(std::uint32_t slot_count) { return (slot_count + 63) / 64; }
  static std::size_t bytes(std::uint32_t slot_count) {
    return (sizeof(SlotMemory) + words(slot_count) * sizeof(std::uint64_t) + kLine - 1) / kLine * kLine;
  }

  /// For the sender, once its ring is backed with memory.
  void announce_contact(std::uint32_t sender) {
    // release, twice: who sees the bit or the version sees the backed ring; pairs with the acquires in visit_contacts and in
    // the transport's poll
    contacts(sender / 64).fetch_or(1ull << (sender % 64), std::memory_order_release);
    contact_version.fetch_add(1, std::memory_order_release);
  }
  /// For the owner, from any of its threads: calls visit(slot) for each who writes to it; stops where visit answers true, and
  /// then answers true.
  template <typename Visit>
  bool visit_contacts(std::uint32_t slot_count, Visit visit) {
    for (std::size_t word = 0; word < words(slot_count); ++word) {
      // acquire: pairs with the release in announce_contact
      for (auto bits = contacts(word).load(std::memory_order_acquire); bits != 0; bits &= bits - 1)
        if (visit(static_cast<std::uint32_t>(64 * word) + static_cast<std::uint32_t>(std::countr_zero(bits)))) return true;
    }
    return false;
  }
};
/// Of an area whose slots are large enough.
inline SlotMemory& slot_memory(base::SharedArea& area, std::uint32_t slot) { return *reinterpret_cast<SlotMemory*>(area.slot(slot)); }

static_assert(sizeof(SlotMemory) == 2 * kLine && offsetof(SlotMemory, contact_version) == kLine);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace shim::transport
