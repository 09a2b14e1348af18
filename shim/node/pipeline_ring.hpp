// SPDX-License-Identifier: BSD-3-Clause
// PipelineRing is a single-producer, multi-consumer broadcast ring in a collective segment.
//
// It holds data for all members that is too long for a medium buffer. The producer writes it chunk
// by chunk, and each other member copies it out. This takes two copies, but avoids the kernel,
// where concurrent readers contend for the pages of the process they read. The producer waits for
// consumers only when the ring is full.
//
// Members produce one after the other. A producer publishes its start position; members that
// skipped earlier data continue from there.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/base/cache_line_isolation.hpp"
#include "shim/base/copy_between_cores.hpp"

namespace shim::node {

/// Large enough to amortise a chunk's counters, and small enough that consumers read a chunk while
/// the next is produced.
inline constexpr std::size_t kPipelineChunk = 16 * 1024;
/// The size of a core's private caches, so that lines are evicted from the last consumers' caches
/// before they are reused (cell_pool.hpp).
inline constexpr std::size_t kPipelineRingBytes = 64 * kPipelineChunk;

inline constexpr int kMaxShmCollMembers = 16;  ///< of one collective segment
/// Per collective segment, so that two members can produce at a time.
inline constexpr int kPipelineRings = 2;

/// Byte counters since the allocation of the segment; zero-initialized.
struct PipelineRingControl {
  struct alignas(base::kCacheLine) PaddedCounter {
    std::atomic<std::uint64_t> bytes;
  };
  PaddedCounter produced;  ///< end of the readable data
  /// By rank: end of the data that this member no longer needs.
  std::array<PaddedCounter, kMaxShmCollMembers> consumed;

  // Relaxed: later users of the segment learn of it by a message.
  void reset() {
    produced.bytes.store(0, std::memory_order_relaxed);
    for (PaddedCounter& counter : consumed) counter.bytes.store(0, std::memory_order_relaxed);
  }
};

/// A message in the ring, complete or in production.
struct PipelineMessage {
  std::uint64_t begin, length;
  std::uint32_t ring;  ///< number in its segment
};

/// A member's view. One thread at a time.
class PipelineRing {
 public:
  /// @param memory kPipelineRingBytes long
  PipelineRing(PipelineRingControl& control, std::byte* memory, int rank)
      : control_(control), memory_(memory), rank_(static_cast<std::size_t>(rank)) {}

  std::byte* memory() const { return memory_; }
  /// Begin to produce; return the start position, at a cache line.
  std::uint64_t begin_produce() {
    // relaxed: this member has produced or consumed the last data itself
    return position_ = (control_.produced.bytes.load(std::memory_order_relaxed) + base::kCacheLine -
                        1) /
                       base::kCacheLine * base::kCacheLine;
  }
  /// Begin to consume at a producer's start position.
  void begin_consume(std::uint64_t position) {
    position_ = position;
    publish_consumed();
  }

  /// Return the length of the next chunk, equal for producer and consumers.
  std::size_t chunk_of(std::uint64_t left) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(
        {left, kPipelineChunk, kPipelineRingBytes - position_ % kPipelineRingBytes}));
  }
  /// Return the chunk's address.
  std::byte* cursor() const { return memory_ + position_ % kPipelineRingBytes; }
  /// Copy a contiguous chunk into the ring.
  void copy_in(const std::byte* from, std::size_t chunk, base::Traffic traffic) {
    copy_(cursor(), from, chunk, traffic);
  }

  /// True if member `rank` no longer needs the bytes that the chunk would overwrite.
  bool has_space(std::size_t chunk, int rank) const {
    // acquire: pairs with the store in publish_consumed
    return position_ + chunk <=
           control_.consumed[static_cast<std::size_t>(rank)].bytes.load(std::memory_order_acquire) +
               kPipelineRingBytes;
  }
  /// Publish the chunk. The store is a full barrier, for the wake-up of sleepers (wake.hpp).
  void produce(std::size_t chunk) {
    position_ += chunk;
    control_.produced.bytes.store(position_,
                                  std::memory_order_seq_cst);  // pairs with the acquire in has
  }
  /// True if the next chunk has been published.
  bool has(std::size_t chunk) const {
    return control_.produced.bytes.load(std::memory_order_acquire) >= position_ + chunk;
  }
  /// Release a chunk that has been copied.
  void consume(std::size_t chunk) {
    position_ += chunk;
    publish_consumed();
  }
  /// End producing: the producer needs none of its own data.
  void end_produce() { publish_consumed(); }

 private:
  // A full barrier, as in produce.
  void publish_consumed() {
    control_.consumed[rank_].bytes.store(position_, std::memory_order_seq_cst);
  }

  PipelineRingControl& control_;
  std::byte* memory_;
  std::size_t rank_;
  std::uint64_t position_ = 0;
  base::CopyForOtherCore copy_;
};

}  // namespace shim::node
