// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/coll_segment.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shim/base/pages.hpp"

namespace shim::node {
namespace {

constexpr std::uint32_t kSegmentsPerHost = 8;  // at a time
constexpr std::size_t kPage = 4096;

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
constexpr std::size_t ring_at(int which) {  // offset in a collective segment
  return whole_pages(sizeof(ShmCollHeader) + kMaxShmCollMembers * sizeof(ShmCollMemberArea)) +
         static_cast<std::size_t>(which) * whole_pages(kPipelineRingBytes);
}
constexpr std::size_t scatter_buffers_at(int rank) {
  return ring_at(kPipelineRings) +
         static_cast<std::size_t>(rank) * whole_pages(kScatterBytesPerMember);
}
constexpr std::size_t kCollSegmentBytes = scatter_buffers_at(kMaxShmCollMembers);

std::byte* segment_at(SharedArea& area, ShmCollSegmentId segment_id) {
  return area.store(segment_id.slot) + segment_id.number * kCollSegmentBytes;
}
ShmCollHeader& header_at(std::byte* segment) { return *reinterpret_cast<ShmCollHeader*>(segment); }
ShmCollMemberArea* member_areas_at(std::byte* segment) {
  return reinterpret_cast<ShmCollMemberArea*>(segment + sizeof(ShmCollHeader));
}

// An inline slot holds the location of longer data: a PipelineMessage or a ScatterBufferRef.
template <typename Reference>
void write_inline(InlineSlot& inline_slot, const Reference& reference) {
  static_assert(sizeof reference <= InlineSlot::kBytes);
  std::memcpy(inline_slot.bytes.data(), &reference, sizeof reference);
}
template <typename Reference>
Reference read_inline(const InlineSlot& inline_slot) {
  Reference found;
  static_assert(sizeof found <= InlineSlot::kBytes);
  std::memcpy(&found, inline_slot.bytes.data(), sizeof found);
  return found;
}

// Relaxed: later users of the segment learn of it by a message.
void reset(ShmCollMemberArea& member_area) {
  member_area.completed.store(0, std::memory_order_relaxed);
  for (InlineSlot& inline_slot : member_area.inline_slots)
    inline_slot.word.store(0, std::memory_order_relaxed);
}

}  // namespace

std::size_t ShmCollSegments::store_bytes() { return kSegmentsPerHost * kCollSegmentBytes; }

bool ShmCollSegments::is_free(const ShmCollHeader& header) const {
  for (std::uint32_t i = 0; i < header.members; ++i) {
    // a process that has attached again since needs no segment of its earlier attachment
    if (area_.slot_generation(header.slots[i]) != header.generations[i]) continue;
    // acquire: pairs with the release in ~ShmCollHandle, after which that member reads nothing
    if (header.detached[i].load(std::memory_order_acquire) == 0 && area_.is_alive(header.slots[i]))
      return false;
  }
  return true;
}

std::optional<ShmCollSegmentId> ShmCollSegments::allocate(std::span<const std::uint32_t> members) {
  std::lock_guard guard(mutex_);
  for (std::uint32_t number = 0; number < kSegmentsPerHost; ++number) {
    const ShmCollSegmentId segment_id{area_.own_slot(), number};
    std::byte* segment = segment_at(area_, segment_id);
    if (!area_.back(segment, sizeof(ShmCollHeader) + members.size() * sizeof(ShmCollMemberArea)))
      return std::nullopt;
    ShmCollHeader& header = header_at(segment);
    if (!is_free(header)) continue;
    header.members = static_cast<std::uint32_t>(members.size());
    std::copy(members.begin(), members.end(), header.slots.begin());
    std::transform(members.begin(), members.end(), header.generations.begin(),
                   [this](std::uint32_t slot) { return area_.slot_generation(slot); });
    for (auto& detached : header.detached) detached.store(0, std::memory_order_relaxed);
    for (PipelineRingControl& ring : header.rings) ring.reset();
    std::for_each_n(member_areas_at(segment), members.size(), reset);
    return segment_id;
  }
  return std::nullopt;
}

std::unique_ptr<ShmCollHandle> ShmCollSegments::open(ShmCollSegmentId segment_id,
                                                     std::span<const std::uint32_t> members,
                                                     int rank, SharedArea& wake_area) {
  std::array<WakeWords*, kMaxShmCollMembers> wakes{};
  std::transform(members.begin(), members.end(), wakes.begin(),
                 [&](std::uint32_t slot) { return &slot_memory(wake_area, slot).wake; });
  return std::make_unique<ShmCollHandle>(area_, segment_at(area_, segment_id),
                                         std::span(wakes.data(), members.size()), rank);
}

ShmCollHandle::ShmCollHandle(SharedArea& area, std::byte* memory, std::span<WakeWords* const> wakes,
                             int rank)
    : area_(area),
      memory_(memory),
      header_(header_at(memory)),
      member_areas_(member_areas_at(memory)),
      rings_{OwnRing{{header_.rings[0], memory + ring_at(0), rank}},
             OwnRing{{header_.rings[1], memory + ring_at(1), rank}}},
      scatter_{.buffers = ScatterBuffers(memory + scatter_buffers_at(rank))},
      rank_(rank),
      size_(static_cast<int>(wakes.size())) {
  std::copy(wakes.begin(), wakes.end(), wakes_.begin());
}

ShmCollHandle::~ShmCollHandle() {
  header_.detached[static_cast<std::size_t>(rank_)].store(
      1, std::memory_order_release);  // pairs with the acquire in is_free
}

bool ShmCollHandle::has_space(const HalfCycle& cycle, int rank) const {
  const std::uint64_t half = round_ / cycle.half;
  // acquire: pairs with the release in publish_completed: that member no longer reads the half
  // before the last
  return half <= cycle.free_half ||
         member_areas_[rank].completed.load(std::memory_order_acquire) >= (half - 1) * cycle.half;
}

bool ShmCollHandle::has_space(std::size_t bytes) {
  HalfCycle& cycle = cycle_for(bytes);
  const std::uint64_t half = round_ / cycle.half;
  if (half <= cycle.free_half) [[likely]]
    return true;
  for (int member = 0; member < size_; ++member)
    if (member != rank_ && !has_space(cycle, member)) return false;
  cycle.free_half = half;
  inline_cycle_.free_half = std::max(
      inline_cycle_.free_half,
      round_ / inline_cycle_.half);  // inline slots are free at least as long as medium buffers
  return true;
}

void ShmCollHandle::wake(MemberSet members) {
  for (; members != 0; members &= members - 1)
    wake_sleepers(*wakes_[static_cast<std::size_t>(std::countr_zero(members))]);
}

void ShmCollHandle::publish_word(std::uint64_t length) {
  inline_slot().word.store(InlineSlot::word_of(round_, length),
                           std::memory_order_release);  // pairs with the acquire in contribution_of
  if (round_ + 1 >= claimed_) claim_slots();
}

/// Acquire the next inline slots, if free, from their readers' caches ahead of use, by stores as in
/// the ring (kLinesAhead). Acquire only one for a member that waits for others in between, because
/// further stores would delay its next slot.
void ShmCollHandle::claim_slots() {
  const bool is_ahead = round_ > last_waited_ + kSlotsAhead;
  claimed_ = std::min(round_ + 1 + (is_ahead ? kSlotsAhead : 1),
                      (inline_cycle_.free_half + 1) * inline_cycle_.half);
  for (std::uint64_t next = round_ + 1; next < claimed_; ++next)
    member_areas_[rank_].inline_slots[next % ShmCollMemberArea::kInlineSlots].word.store(
        0, std::memory_order_relaxed);
}

void ShmCollHandle::publish(std::size_t bytes, MemberSet readers) {
  if (bytes <= kMediumBufferBytes) [[likely]] {
    publish_word(bytes);
  } else {
    write_inline(inline_slot(), scatter_.buffers.publish(round_, bytes, readers & ~member(rank_)));
    publish_word(InlineSlot::kInScatterBuffer);
  }
  wake(readers);
}

void ShmCollHandle::store_word(std::uint64_t length) {
  inline_slot().word.store(InlineSlot::word_of(round_, length),
                           std::memory_order_release);  // pairs with the acquire in contribution_of
}

bool ShmCollHandle::has_scatter_buffer() {
  // allocated on demand, because most communicators never need one
  if (!scatter_.is_backed &&
      !(scatter_.is_backed = area_.back(scatter_.buffers.memory(), kScatterBytesPerMember)
                                 .has_value()))
    return false;
  return scatter_.buffers.is_next_free([&](int rank, std::uint64_t round) {
    // acquire: pairs with the release in publish_completed; an inline slot passed to record_read
    // was read with acquire
    return last_seen_[static_cast<std::size_t>(rank)] > round ||
           member_areas_[rank].completed.load(std::memory_order_acquire) > round;
  });
}

const std::byte* ShmCollHandle::scatter_buffer(int rank, std::uint32_t number) const {
  return memory_ + scatter_buffers_at(rank) + number * kScatterBufferBytes;
}

bool ShmCollHandle::publish_pipeline(int which, std::uint64_t bytes) {
  auto& [ring, is_backed] = rings_[static_cast<std::size_t>(which)];
  // allocated on demand, because most communicators never need it
  if (!is_backed) {
    if (!area_.back(ring.memory(), kPipelineRingBytes)) return false;
    is_backed = true;
    base::prefault_pages(ring.memory(), kPipelineRingBytes);
  }
  write_inline(inline_slot(),
               PipelineMessage{ring.begin_produce(), bytes, static_cast<std::uint32_t>(which)});
  publish_word(InlineSlot::kInPipeline);
  wake_all_members();
  return true;
}

/// Return data that is neither in the inline slot nor in a medium buffer.
ShmCollHandle::Contribution ShmCollHandle::indirect_contribution_of(int rank,
                                                                    std::uint64_t length) const {
  const InlineSlot& inline_slot = member_areas_[rank]
                                      .inline_slots[round_ % ShmCollMemberArea::kInlineSlots];
  if (length == InlineSlot::kInPipeline)
    return {.in_segment = false, .pipelined = read_inline<PipelineMessage>(inline_slot)};
  if (length != InlineSlot::kInScatterBuffer)
    return {.in_segment = false, .by_messages = length == InlineSlot::kByMessages};
  const auto buffer = read_inline<ScatterBufferRef>(inline_slot);
  return {.in_segment = true, .bytes = {scatter_buffer(rank, buffer.number), buffer.length}};
}

void ShmCollHandle::publish_completed() {
  member_areas_[rank_].completed.store(
      round_, std::memory_order_release);  // pairs with the acquire in has_space
  wake(all_members(size_));
}

}  // namespace shim::node
