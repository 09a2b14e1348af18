// SPDX-License-Identifier: BSD-3-Clause
// ScatterBuffers hold a member's distinct parts for several members of a collective segment.
//
// They are used if the parts exceed a medium buffer. The member writes and publishes all parts at
// once, and each reader copies its own.
//
// Each member has two and alternates between them. A buffer is free once each of its readers is
// known to be in a later round, or to have completed the round in which it was filled. No member
// waits for a free buffer: messages carry the data instead. If all members exchange data in each
// round, a buffer is always free in time, because a member receives from all others in the round in
// which it uses the other buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shim/node/pipeline_ring.hpp"

namespace shim::node {

/// 2 KiB for each of 15 other members.
inline constexpr std::size_t kScatterBufferBytes = 30 * 1024;
inline constexpr std::size_t kScatterBuffers = 2;  ///< of each member
inline constexpr std::size_t kScatterBytesPerMember = kScatterBuffers * kScatterBufferBytes;

/// Contents of an inline slot that refers to a scatter buffer.
struct ScatterBufferRef {
  std::uint32_t number, length;
};

/// A bit per rank.
using MemberSet = std::uint32_t;

/// The scatter buffers of this member.
class ScatterBuffers {
 public:
  explicit ScatterBuffers(std::byte* memory) : memory_(memory) {}

  std::byte* memory() const { return memory_; }
  /// Return where to write the next buffer.
  std::byte* next() const { return memory_ + number_ * kScatterBufferBytes; }
  /// True if no member still reads the next buffer. is_through(rank, round) must return true if
  /// that member no longer reads buffers of that round.
  template <typename IsThrough>
  bool is_next_free(const IsThrough& is_through) const {
    const BufferUse& last = uses_[number_];
    for (int rank = 0; rank < kMaxShmCollMembers; ++rank)
      if ((last.readers >> rank & 1) != 0 && !is_through(rank, last.round)) return false;
    return true;
  }
  /// Record that the next buffer holds this many bytes for these readers.
  ScatterBufferRef publish(std::uint64_t round, std::size_t bytes, MemberSet readers) {
    uses_[number_] = {round, readers};
    const ScatterBufferRef published{static_cast<std::uint32_t>(number_),
                                     static_cast<std::uint32_t>(bytes)};
    number_ = (number_ + 1) % kScatterBuffers;
    return published;
  }

 private:
  struct BufferUse {
    std::uint64_t round = 0;
    MemberSet readers = 0;
  };
  std::byte* memory_;
  std::array<BufferUse, kScatterBuffers> uses_{};
  std::size_t number_ = 0;  ///< of the next buffer
};

}  // namespace shim::node
