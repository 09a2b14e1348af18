// SPDX-License-Identifier: BSD-3-Clause
// SlotMemory is a process's slot of the shared area.
//
// It holds the words to wake the process, the set of its senders, and the probe of its process id.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "shim/base/cache_line_isolation.hpp"
#include "shim/node/shared_area.hpp"
#include "shim/node/wake.hpp"

namespace shim::node {

/// Zero is the initial state of all members but the probe.
struct SlotMemory {
  /// For senders that wake this process.
  alignas(base::kCacheLine) WakeWords wake;
  /// A random number in this process's private memory, and its address; see PeerMemory. Written
  /// before the process is ready.
  std::uint64_t probe_address;
  std::uint64_t probe_value;
  /// Incremented when a process begins to send to this one.
  alignas(base::kCacheLine) std::atomic<std::uint64_t> sender_version;

  /// Bit set after this structure, sized for the area's slots. Bit i of word w: the process of
  /// slot 64*w+i sends to this one. A bit set, unlike a list, stays consistent if a sender
  /// re-attaches or dies halfway.
  std::atomic<std::uint64_t>& senders(std::size_t word) {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1)[word];
  }

  static std::size_t words(std::uint32_t slot_count) { return (slot_count + 63) / 64; }
  static std::size_t bytes(std::uint32_t slot_count) {
    return (sizeof(SlotMemory) + words(slot_count) * sizeof(std::uint64_t) + base::kCacheLine - 1) /
           base::kCacheLine * base::kCacheLine;
  }

  /// Sender: announce itself, once its ring to this process has memory.
  void announce_sender(std::uint32_t sender) {
    // release, twice: a reader of the bit or the version sees the backed ring; pairs with the
    // acquires in visit_senders and in the transport's poll
    senders(sender / 64).fetch_or(1ull << (sender % 64), std::memory_order_release);
    sender_version.fetch_add(1, std::memory_order_release);
  }
  /// Owner, from any thread: call visit(slot) for each sender until it returns true; return true
  /// then.
  template <typename Visit>
  bool visit_senders(std::uint32_t slot_count, Visit visit) {
    for (std::size_t word = 0; word < words(slot_count); ++word) {
      // acquire: pairs with the release in announce_sender
      for (auto bits = senders(word).load(std::memory_order_acquire); bits != 0; bits &= bits - 1)
        if (visit(static_cast<std::uint32_t>(64 * word) +
                  static_cast<std::uint32_t>(std::countr_zero(bits))))
          return true;
    }
    return false;
  }
};
/// Return a slot of an area whose slots are large enough.
inline SlotMemory& slot_memory(SharedArea& area, std::uint32_t slot) {
  return *reinterpret_cast<SlotMemory*>(area.slot(slot));
}

static_assert(sizeof(SlotMemory) == 2 * base::kCacheLine &&
              offsetof(SlotMemory, sender_version) == base::kCacheLine);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace shim::node
