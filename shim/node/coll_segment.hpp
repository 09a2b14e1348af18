// SPDX-License-Identifier: BSD-3-Clause
// A collective segment is shared memory for collectives among few processes of one node.
//
// In each round a member may publish a few bytes for the others. All readers read them in place,
// concurrently, and consume nothing. The segment is in the store (node/shared_area.hpp) of one
// member, the host, which sends the segment's location to the others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "shim/node/pipeline_ring.hpp"
#include "shim/node/scatter_buffers.hpp"
#include "shim/node/shared_area.hpp"
#include "shim/node/slot.hpp"

namespace shim::node {

/// Most bytes that a member publishes in a round for all to read.
inline constexpr std::size_t kMediumBufferBytes = 1088;

constexpr MemberSet member(int rank) { return MemberSet{1} << rank; }
constexpr MemberSet all_members(int size) { return member(size) - 1; }
static_assert(kMaxShmCollMembers < 32);

/// Location of a collective segment, sent by its host to the other members.
struct ShmCollSegmentId {
  std::uint32_t slot, number;
};

/// A member's published data. Its word holds the round and the length; 0 means never used.
struct alignas(base::kCacheLine) InlineSlot {
  static constexpr std::size_t kBytes = base::kCacheLine - sizeof(std::uint64_t);
  /// Value of the length: this member's data is not in the segment. For example, it is too long,
  /// and messages carry it.
  static constexpr std::uint64_t kFallback = 0xffff;
  /// Value of the length: the data is in a broadcast ring, and the bytes are a PipelineMessage.
  static constexpr std::uint64_t kInPipeline = 0xfffe;
  /// Value of the length: the data is in a scatter buffer, and the bytes are a ScatterBufferRef.
  static constexpr std::uint64_t kInScatterBuffer = 0xfffd;
  /// Value of the length: the data would fit a scatter buffer, but none was free, so messages carry
  /// it.
  static constexpr std::uint64_t kByMessages = 0xfffc;
  static std::uint64_t word_of(std::uint64_t round, std::uint64_t length) {
    return (round + 1) << 16 | length;
  }

  std::atomic<std::uint64_t> word;
  std::array<std::byte, kBytes> bytes;
};
static_assert(sizeof(InlineSlot) == base::kCacheLine);

/// Data longer than an inline slot; the inline slot's word holds its length.
struct alignas(base::kCacheLine) MediumBuffer {
  std::array<std::byte, kMediumBufferBytes> bytes;
};

/// A member's part, written by that member only.
///
/// Each round uses the next inline slot and, for longer data, the next medium buffer. Both arrays
/// are reused by halves: a half is free once all members have completed the rounds that used it.
/// Each member publishes the number of its completed rounds every kRoundsPerReport rounds. The many
/// inline slots let a member that only sends run ahead; members that publish longer data mostly
/// wait for each other anyway.
struct ShmCollMemberArea {
  static constexpr std::uint64_t kInlineSlots = 64, kMediumBuffers = 16, kRoundsPerReport = 8;
  static_assert(kInlineSlots / 2 % kRoundsPerReport == 0 &&
                kMediumBuffers / 2 % kRoundsPerReport == 0);
  /// Rounds that this member has completed, as last published.
  alignas(base::kCacheLine) std::atomic<std::uint64_t> completed;
  std::array<InlineSlot, kInlineSlots> inline_slots;
  std::array<MediumBuffer, kMediumBuffers> medium_buffers;
};

/// Header of a collective segment; zero-initialized.
struct ShmCollHeader {
  alignas(base::kCacheLine) std::uint32_t members;  ///< written and read by the host
  std::array<std::uint32_t, kMaxShmCollMembers>
      slots;  ///< of the members, by rank; written and read by the host
  std::array<std::uint32_t, kMaxShmCollMembers> generations;  ///< of these slots, when allocated
  /// By rank: 1 once the member no longer needs the segment.
  alignas(base::kCacheLine) std::array<std::atomic<std::uint32_t>, kMaxShmCollMembers> detached;
  std::array<PipelineRingControl, kPipelineRings> rings;
};

/// A member's view of a segment. One thread at a time. All members execute equal rounds in equal
/// order.
class ShmCollHandle {
 public:
  /// Called by ShmCollSegments::open.
  /// @param memory of the segment, in this area, which outlives the handle
  /// @param wakes words to wake the members, by rank
  ShmCollHandle(SharedArea& area, std::byte* memory, std::span<WakeWords* const> wakes, int rank);
  /// Detach from the segment. Data published by this member stays for the others.
  ~ShmCollHandle();
  ShmCollHandle(const ShmCollHandle&) = delete;
  ShmCollHandle& operator=(const ShmCollHandle&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // --- operations in a round, which begins where the previous one ends
  /// True unless member `rank` may still read the data that this member would overwrite by
  /// publishing this many bytes.
  bool has_space(std::size_t bytes, int rank) const { return has_space(cycle_for(bytes), rank); }
  /// True unless any member may still read that data; cached for the rest of the half.
  bool has_space(std::size_t bytes);
  /// Return where to write the data.
  std::byte* buffer(std::size_t bytes) {
    if (bytes <= InlineSlot::kBytes) return inline_slot().bytes.data();
    return bytes <= kMediumBufferBytes ? medium_buffer_of(rank_).bytes.data()
                                       : scatter_.buffers.next();
  }
  /// Publish this many bytes of the buffer and wake these members.
  void publish(std::size_t bytes, MemberSet readers);
  /// Publish that this member's data is not in the segment.
  void publish_fallback() { store_word(InlineSlot::kFallback); }
  /// True if a scatter buffer is free; buffer() is then in it. Call before publishing more than
  /// kMediumBufferBytes.
  bool has_scatter_buffer();
  /// Publish that no scatter buffer is free, so that messages carry the data.
  void publish_by_messages() { store_word(InlineSlot::kByMessages); }
  /// Copy data into a scatter buffer, where other members read it next.
  void copy_to_scatter_buffer(std::byte* to, std::span<const std::byte> from) {
    scatter_.copy(to, from.data(), from.size(), base::Traffic::both_ways);
  }
  /// Announce that this many bytes will be written to this broadcast ring, and wake all members.
  /// False if there is no memory for the ring.
  bool publish_pipeline(int which, std::uint64_t bytes);
  PipelineRing& ring(int which) { return rings_[static_cast<std::size_t>(which)].ring; }
  /// True if this member knows the ring to have memory.
  bool has_pipeline_ring(int which) const {
    return rings_[static_cast<std::size_t>(which)].is_backed;
  }
  /// Wake members after a chunk was produced or consumed.
  void wake_all_members() { wake(all_members(size_)); }
  void wake_member(int rank) { wake(member(rank)); }

  struct Contribution {
    /// True if `bytes` is the data; false if it is in a broadcast ring, or not in the segment.
    bool in_segment;
    bool by_messages = false;  ///< valid if not in_segment
    std::span<const std::byte> bytes = {};
    std::optional<PipelineMessage> pipelined = std::nullopt;  ///< valid if not in_segment
  };
  /// Return the data of this member in this round; nullopt if it has not published yet.
  std::optional<Contribution> contribution_of(int rank) const {
    const InlineSlot& inline_slot = member_areas_[rank]
                                        .inline_slots[round_ % ShmCollMemberArea::kInlineSlots];
    // acquire: pairs with the releases in publish_word and store_word, so that the bytes are
    // visible
    const std::uint64_t word = inline_slot.word.load(std::memory_order_acquire);
    if (word >> 16 != round_ + 1) return std::nullopt;
    const std::uint64_t length = word & 0xffff;
    if (length <= InlineSlot::kBytes) [[likely]]
      return Contribution{.in_segment = true, .bytes = {inline_slot.bytes.data(), length}};
    if (length <= kMediumBufferBytes)
      return Contribution{.in_segment = true,
                          .bytes = {medium_buffer_of(rank).bytes.data(), length}};
    return indirect_contribution_of(rank, length);
  }
  /// Record that this member has published in this round, and so has completed all earlier ones.
  void record_read(int rank) { last_seen_[static_cast<std::size_t>(rank)] = round_; }
  /// Record that this member waits in this round for another member's data.
  void record_wait() { last_waited_ = round_; }
  /// Prefetch the inline slot that a member uses kRoundsAhead rounds later, so that its line is
  /// transferred meanwhile. Useful if that member runs ahead.
  void prefetch_next(int rank) const {
    __builtin_prefetch(&member_areas_[rank].inline_slots[(round_ + kRoundsAhead) %
                                                         ShmCollMemberArea::kInlineSlots]);
  }
  /// End the round for this member, which needs no more of the round's data. True every
  /// kRoundsPerReport rounds.
  bool end_round() {
    if (++round_ % ShmCollMemberArea::kRoundsPerReport != 0) [[likely]]
      return false;
    publish_completed();
    return true;
  }

 private:
  static constexpr std::uint64_t kRoundsAhead = 3;
  /// Inline slots acquired at once by a member that publishes without waiting for others.
  static constexpr std::uint64_t kSlotsAhead = 8;
  /// Reuse state of the inline slots, or of the medium buffers.
  struct HalfCycle {
    std::uint64_t half;           ///< rounds of a half
    std::uint64_t free_half = 1;  ///< newest half known to be free
  };
  static bool uses_medium_buffer(std::size_t bytes) {
    return bytes > InlineSlot::kBytes && bytes <= kMediumBufferBytes;
  }
  HalfCycle& cycle_for(std::size_t bytes) {
    return uses_medium_buffer(bytes) ? medium_cycle_ : inline_cycle_;
  }
  const HalfCycle& cycle_for(std::size_t bytes) const {
    return uses_medium_buffer(bytes) ? medium_cycle_ : inline_cycle_;
  }
  bool has_space(const HalfCycle& cycle, int rank) const;
  Contribution indirect_contribution_of(int rank, std::uint64_t length) const;
  const std::byte* scatter_buffer(int rank, std::uint32_t number) const;
  /// Store the word of this round's inline slot, which publishes the contribution. Alone for a mark
  /// without data.
  void store_word(std::uint64_t length);
  InlineSlot& inline_slot() {
    return member_areas_[rank_].inline_slots[round_ % ShmCollMemberArea::kInlineSlots];
  }
  MediumBuffer& medium_buffer_of(int rank) const {
    return member_areas_[rank].medium_buffers[round_ % ShmCollMemberArea::kMediumBuffers];
  }
  void wake(MemberSet members);
  /// Do the same for a contribution with data, and then claim_slots() for the next rounds.
  void publish_word(std::uint64_t length);
  void claim_slots();
  void publish_completed();

  SharedArea& area_;
  std::byte* memory_;
  ShmCollHeader& header_;
  ShmCollMemberArea* member_areas_;  ///< by rank
  struct OwnRing {
    PipelineRing ring;
    bool is_backed = false;  ///< as far as this member knows
  };
  std::array<OwnRing, kPipelineRings> rings_;
  struct OwnScatterBuffers {
    ScatterBuffers buffers;
    bool is_backed = false;  ///< as far as this member knows
    base::CopyForOtherCore copy = {};
  } scatter_;
  /// By rank: the last round passed to record_read.
  std::array<std::uint64_t, kMaxShmCollMembers> last_seen_{};
  std::array<WakeWords*, kMaxShmCollMembers> wakes_{};
  int rank_, size_;
  std::uint64_t round_ = 0;
  std::uint64_t last_waited_ = 0;  ///< round of the last record_wait
  /// First round whose inline slot claim_slots() has not acquired yet.
  std::uint64_t claimed_ = 0;
  HalfCycle inline_cycle_{ShmCollMemberArea::kInlineSlots / 2},
      medium_cycle_{ShmCollMemberArea::kMediumBuffers / 2};
};

/// A process's collective segments as host, and its access to the segments of others. Thread-safe.
class ShmCollSegments {
 public:
  /// Return the bytes that a store must have; memory is allocated as it is used.
  static std::size_t store_bytes();

  /// @param area outlives this object
  explicit ShmCollSegments(SharedArea& area) : area_(area) {}
  /// Allocate an unused collective segment for the processes of these slots, by rank; nullopt if
  /// all are in use or memory is short.
  std::optional<ShmCollSegmentId> allocate(std::span<const std::uint32_t> members);
  /// Return the handle of this rank. @param members as passed to allocate
  std::unique_ptr<ShmCollHandle> open(ShmCollSegmentId segment_id,
                                      std::span<const std::uint32_t> members, int rank) {
    return open(segment_id, members, rank, area_);
  }
  /// Open for members that sleep on their slots of another area.
  std::unique_ptr<ShmCollHandle> open(ShmCollSegmentId segment_id,
                                      std::span<const std::uint32_t> members, int rank,
                                      SharedArea& wake_area);

 private:
  bool is_free(const ShmCollHeader& header) const;
  SharedArea& area_;
  std::mutex mutex_;  ///< guards the headers of the local segments
};

}  // namespace shim::node
