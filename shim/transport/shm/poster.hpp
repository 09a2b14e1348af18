// SPDX-License-Identifier: BSD-3-Clause
// Posters: what a member of a board has for several others, each its own part, and is more than a sheet holds. All is written at once and
// put up, and each reader copies what is its own.
//
// Two for each member, used in turn. Nobody waits for one: a reader that has come to a later meeting reads an earlier one's poster no more,
// and where all give to each other each hears that of all others before it needs its next one but one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shim/transport/shm/belt.hpp"

namespace shim::transport {

/// Two KiB for each of sixteen members.
inline constexpr std::size_t kPosterBytes = 30 * 1024;
inline constexpr std::size_t kPosters = 2;  ///< of each member
inline constexpr std::size_t kBytesOfPosters = kPosters * kPosterBytes;

/// What a note says of one.
struct OnPoster {
  std::uint32_t number, length;
};

/// A bit for each rank.
using MemberSet = std::uint32_t;

/// A member's own.
class Posters {
 public:
  explicit Posters(std::byte* memory) : memory_(memory) {}

  std::byte* memory() const { return memory_; }
  /// Where the next one is to be written.
  std::byte* next() const { return memory_ + number_ * kPosterBytes; }
  /// Does nobody read any more what the next one was used for? is_through(rank, meeting): has this member gone through that meeting?
  template <typename IsThrough>
  bool is_next_free(const IsThrough& is_through) const {
    const Use& last = uses_[number_];
    for (int rank = 0; rank < kBoardMembers; ++rank)
      if ((last.readers >> rank & 1) != 0 && !is_through(rank, last.meeting)) return false;
    return true;
  }
  /// So much has been written on it, for these.
  OnPoster put_up(std::uint64_t meeting, std::size_t bytes, MemberSet readers) {
    uses_[number_] = {meeting, readers};
    const OnPoster put{static_cast<std::uint32_t>(number_), static_cast<std::uint32_t>(bytes)};
    number_ = (number_ + 1) % kPosters;
    return put;
  }

 private:
  struct Use {
    std::uint64_t meeting = 0;
    MemberSet readers = 0;
  };
  std::byte* memory_;
  std::array<Use, kPosters> uses_{};
  std::size_t number_ = 0;  ///< of the next one
};

}  // namespace shim::transport
