// SPDX-License-Identifier: BSD-3-Clause
// Tests ShmCollSegments without collectives: allocation, reads of contributions, and reuse of slots
// and buffers.
#include "shim/node/coll_segment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/node/anonymous_area.hpp"

namespace shim::node {
namespace {

using testing::AnonymousArea;
using testing::AnonymousSegment;

class ShmCollSegmentTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 4;
  std::shared_ptr<AnonymousSegment> segment = std::make_shared<AnonymousSegment>(
      kSlots, SlotMemory::bytes(kSlots), 64, ShmCollSegments::store_bytes());
  AnonymousArea host_area{segment, 2}, other_area{segment, 0};
  ShmCollSegments host{host_area}, other{other_area};
  const std::vector<std::uint32_t> members{2, 0};  // rank 0 is the host

  struct Pair {
    std::unique_ptr<ShmCollHandle> first, second;
  };
  Pair open(ShmCollSegmentId segment_id) {
    return {host.open(segment_id, members, 0), other.open(segment_id, members, 1)};
  }
  ShmCollSegmentId take() { return host.allocate(members).value(); }
  int count_of_free() {
    int count = 0;
    while (host.allocate(members)) ++count;
    return count;
  }
};

void publish(ShmCollHandle& handle, std::uint64_t value) {
  std::memcpy(handle.buffer(sizeof value), &value, sizeof value);
  handle.publish(sizeof value, all_members(handle.size()));
}

std::uint64_t value_of(const ShmCollHandle::Contribution& found) {
  std::uint64_t value = 0;
  std::memcpy(&value, found.bytes.data(), sizeof value);
  return value;
}

TEST_F(ShmCollSegmentTest, ReadsWhatAnotherMemberPublished) {
  auto [first, second] = open(take());
  EXPECT_FALSE(second->contribution_of(0));
  publish(*first, 7);
  ASSERT_TRUE(second->contribution_of(0));
  EXPECT_TRUE(second->contribution_of(0)->in_segment);
  EXPECT_EQ(second->contribution_of(0)->bytes.size(), 8u);
  EXPECT_EQ(value_of(*second->contribution_of(0)), 7u);
  EXPECT_FALSE(first->contribution_of(1));
  first->end_round();
  second->end_round();
  EXPECT_FALSE(second->contribution_of(0)) << "the reader is in the next round";
  first->publish_fallback();
  ASSERT_TRUE(second->contribution_of(0));
  EXPECT_FALSE(second->contribution_of(0)->in_segment);
}

TEST_F(ShmCollSegmentTest, PublishesEveryLengthUpToTheMediumBuffer) {
  auto [first, second] = open(take());
  for (std::size_t bytes = 0; bytes <= kMediumBufferBytes; ++bytes) {
    ASSERT_TRUE(first->has_space(bytes));
    const auto mark = static_cast<std::byte>(bytes);
    std::memset(first->buffer(bytes), static_cast<int>(mark), bytes);
    first->publish(bytes, member(1));
    const ShmCollHandle::Contribution found = second->contribution_of(0).value();
    ASSERT_TRUE(found.in_segment);
    ASSERT_EQ(found.bytes.size(), bytes);
    ASSERT_TRUE(std::ranges::all_of(found.bytes, [&](std::byte byte) { return byte == mark; }))
        << bytes;
    first->end_round();
    second->end_round();
  }
}

// For inline slots and for medium buffers: the writer runs ahead by up to all of them, in halves,
// and never overwrites a contribution that the reader has not read.
TEST_F(ShmCollSegmentTest, SlotsAreReusedOnlyAfterAllMembersCompletedTheRound) {
  for (const auto& [bytes, ring] :
       {std::pair(std::size_t{8}, ShmCollMemberArea::kInlineSlots),
        std::pair(std::size_t{100}, ShmCollMemberArea::kMediumBuffers)}) {
    auto [first, second] = open(take());
    std::uint64_t put = 0;
    for (std::uint64_t read = 0; read < 10 * ring; ++read) {
      EXPECT_EQ(first->has_space(bytes, 1), first->has_space(bytes));
      for (; first->has_space(bytes); ++put) {
        ASSERT_LT(put - read, ring) << "the writer overwrote an unread contribution";
        std::memcpy(first->buffer(bytes), &put, sizeof put);
        first->publish(bytes, all_members(2));
        first->end_round();
      }
      ASSERT_GE(put - read, ring / 2) << "the writer could run further ahead";
      ASSERT_TRUE(second->contribution_of(0)) << read;
      ASSERT_EQ(value_of(*second->contribution_of(0)), read);
      second->end_round();
    }
  }
}

/// Publish `bytes` bytes of `value` in a scatter buffer.
void publish_scatter_buffer(ShmCollHandle& handle, std::size_t bytes, std::uint8_t value) {
  ASSERT_TRUE(handle.has_scatter_buffer());
  ASSERT_TRUE(handle.has_space(bytes));
  std::memset(handle.buffer(bytes), value, bytes);
  handle.publish(bytes, all_members(handle.size()));
}

void expect_scatter_buffer(const ShmCollHandle& handle, std::size_t bytes, std::uint8_t value) {
  const auto found = handle.contribution_of(0);
  ASSERT_TRUE(found && found->in_segment);
  ASSERT_EQ(found->bytes.size(), bytes);
  EXPECT_TRUE(std::ranges::all_of(
      found->bytes, [&](std::byte byte) { return byte == static_cast<std::byte>(value); }));
}

TEST_F(ShmCollSegmentTest, ScatterBuffersHoldUpToTheirSize) {
  auto [first, second] = open(take());
  std::uint8_t value = 0;
  for (std::size_t bytes : {kMediumBufferBytes + 1, kScatterBufferBytes}) {
    publish_scatter_buffer(*first, bytes, ++value);
    expect_scatter_buffer(*second, bytes, value);
    first->end_round();
    second->end_round();
  }
}

TEST_F(ShmCollSegmentTest, ScatterBufferIsReusedOnlyAfterItsReadersCompleted) {
  auto [first, second] = open(take());
  for (std::uint8_t value = 1; value <= kScatterBuffers; ++value) {
    publish_scatter_buffer(*first, kScatterBufferBytes, value);
    first->end_round();
  }
  EXPECT_FALSE(first->has_scatter_buffer()) << "the first buffer is unread";
  for (std::uint8_t value = 1; value <= kScatterBuffers; ++value) {
    expect_scatter_buffer(*second, kScatterBufferBytes, value);
    second->end_round();
  }
  publish(*second, 7);
  EXPECT_FALSE(first->has_scatter_buffer())
      << "the first member has not read the second member's round";
  ASSERT_TRUE(first->contribution_of(1));
  first->record_read(1);
  EXPECT_TRUE(first->has_scatter_buffer());
}

TEST_F(ShmCollSegmentTest, CompletionIsPublishedPeriodically) {
  auto [first, second] = open(take());
  for (std::uint8_t value = 1; value <= kScatterBuffers; ++value) {
    publish_scatter_buffer(*first, kScatterBufferBytes, value);
    first->end_round();
  }
  for (std::uint64_t round = 0; round < ShmCollMemberArea::kRoundsPerReport; ++round) {
    EXPECT_FALSE(first->has_scatter_buffer());
    second->end_round();
  }
  EXPECT_TRUE(first->has_scatter_buffer());
}

TEST_F(ShmCollSegmentTest, NoScatterBufferWithoutMemory) {
  auto [first, second] = open(take());
  other_area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_FALSE(second->has_scatter_buffer());
  second->publish_by_messages();
  ASSERT_TRUE(first->contribution_of(1));
  EXPECT_FALSE(first->contribution_of(1)->in_segment);
  EXPECT_TRUE(first->contribution_of(1)->by_messages);
}

TEST_F(ShmCollSegmentTest, IsFreeAfterAllMembersDetached) {
  const ShmCollSegmentId segment_id = take();
  const int others = count_of_free();
  EXPECT_GT(others, 0);
  Pair pair = open(segment_id);
  publish(*pair.first, 7);
  pair.first.reset();
  EXPECT_EQ(count_of_free(), 0) << "the second member may still read";
  EXPECT_EQ(value_of(*pair.second->contribution_of(0)), 7u);
  pair.second.reset();
  const ShmCollSegmentId again = take();
  EXPECT_EQ(again.number, segment_id.number);
  Pair reopened = open(again);
  EXPECT_FALSE(reopened.second->contribution_of(0)) << "a reused segment is empty";
  EXPECT_TRUE(reopened.first->has_space(8));
}

TEST_F(ShmCollSegmentTest, IsFreeIfRemainingMembersAreDead) {
  const ShmCollSegmentId segment_id = take();
  count_of_free();
  Pair pair = open(segment_id);
  pair.first.reset();
  EXPECT_EQ(count_of_free(), 0);
  segment->mark_dead(0);
  EXPECT_EQ(count_of_free(), 1) << "the host must free the segment of dead members";
}

/// A member that failed before it opened the segment, or that exec(2) replaced, never detaches.
TEST_F(ShmCollSegmentTest, IsFreeIfRemainingMembersHaveAttachedAgain) {
  const ShmCollSegmentId segment_id = take();
  count_of_free();
  host.open(segment_id, members, 0).reset();
  EXPECT_EQ(count_of_free(), 0);
  ++segment->control(0).generation;
  EXPECT_EQ(count_of_free(), 1);
  EXPECT_EQ(count_of_free(), 0) << "the new generation is a member of the reused segment";
}

TEST_F(ShmCollSegmentTest, AnotherIncarnationOfTheHostKeepsSegmentsInUse) {
  const ShmCollSegmentId segment_id = take();
  Pair pair = open(segment_id);
  ShmCollSegments next_incarnation(host_area);
  const auto taken = next_incarnation.allocate(members);
  ASSERT_TRUE(taken);
  EXPECT_NE(taken->number, segment_id.number);
}

TEST_F(ShmCollSegmentTest, AllocationFailsWithoutMemory) {
  host_area.refuse_memory(base::ErrorClass::no_space);
  EXPECT_FALSE(host.allocate(members));
}

}  // namespace
}  // namespace shim::node
