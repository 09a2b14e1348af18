// SPDX-License-Identifier: BSD-3-Clause
// Tests the broadcast ring without collectives: readers consume all bytes in order, the writer
// never overwrites unread data, and a reader that skipped a message continues with the next.
#include "shim/node/pipeline_ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace shim::node {
namespace {

class PipelineRingTest : public ::testing::Test {
 protected:
  PipelineRingControl control{};
  std::vector<std::byte> memory = std::vector<std::byte>(kPipelineRingBytes);
  PipelineRing ring_of(int rank) { return {control, memory.data(), rank}; }
};

/// Return the byte at position `cursor` of message `number`.
std::byte byte_at(std::uint64_t number, std::uint64_t cursor) {
  return static_cast<std::byte>(number * 31 + cursor * 7 + cursor / kPipelineChunk);
}

/// Produce one message, chunk by chunk; the readers must consume meanwhile.
template <typename Await>
void produce(PipelineRing& ring, std::uint64_t number, std::uint64_t length,
             const Await& await_room) {
  for (std::uint64_t at = 0; at < length;) {
    const std::size_t chunk = ring.chunk_of(length - at);
    await_room(chunk);
    for (std::size_t i = 0; i < chunk; ++i) ring.cursor()[i] = byte_at(number, at + i);
    ring.produce(chunk);
    at += chunk;
  }
  ring.end_produce();
}

/// Consume one message; return the number of wrong bytes.
template <typename Await>
std::uint64_t consume(PipelineRing& ring, std::uint64_t number, PipelineMessage produced,
                      const Await& await_chunk) {
  std::uint64_t wrong = 0;
  ring.begin_consume(produced.begin);
  for (std::uint64_t at = 0; at < produced.length;) {
    const std::size_t chunk = ring.chunk_of(produced.length - at);
    await_chunk(chunk);
    for (std::size_t i = 0; i < chunk; ++i) wrong += ring.cursor()[i] != byte_at(number, at + i);
    ring.consume(chunk);
    at += chunk;
  }
  return wrong;
}

TEST_F(PipelineRingTest, PublishesExactlyTheBytesProduced) {
  PipelineRing first = ring_of(0), second = ring_of(1);
  const std::uint64_t begin = first.begin_produce();
  second.begin_consume(begin);
  EXPECT_FALSE(second.has(1));
  EXPECT_EQ(first.chunk_of(3 * kPipelineChunk), kPipelineChunk);
  first.produce(kPipelineChunk);
  EXPECT_TRUE(second.has(kPipelineChunk));
  EXPECT_FALSE(second.has(kPipelineChunk + 1));
  second.consume(kPipelineChunk);
  EXPECT_FALSE(second.has(1));
}

TEST_F(PipelineRingTest, HasRoomUntilTheSlowestReaderLags) {
  PipelineRing first = ring_of(0), second = ring_of(1);
  const std::uint64_t begin = first.begin_produce();
  second.begin_consume(begin);
  for (std::size_t produced = 0; produced < kPipelineRingBytes; produced += kPipelineChunk) {
    ASSERT_TRUE(first.has_space(kPipelineChunk, 1)) << produced;
    first.produce(kPipelineChunk);
  }
  EXPECT_FALSE(first.has_space(1, 1));
  second.consume(kPipelineChunk);
  EXPECT_TRUE(first.has_space(kPipelineChunk, 1));
  EXPECT_FALSE(first.has_space(kPipelineChunk + 1, 1));
  EXPECT_FALSE(first.has_space(kPipelineChunk, 2)) << "rank 2 has consumed nothing";
}

TEST_F(PipelineRingTest, ChunksDoNotWrapAround) {
  PipelineRing first = ring_of(0), second = ring_of(1);
  const auto nothing = [](std::size_t) {};
  for (std::uint64_t number = 0; number < 100; ++number) {
    const PipelineMessage produced{first.begin_produce(), 3 * kPipelineChunk + 5 * number};
    ASSERT_EQ(produced.begin % base::kCacheLine, 0u);
    produce(first, number, produced.length, [&](std::size_t chunk) {
      ASSERT_LE(first.cursor() + chunk, memory.data() + kPipelineRingBytes);
    });
    ASSERT_EQ(consume(second, number, produced, nothing), 0u);
  }
}

TEST_F(PipelineRingTest, ReaderThatSkippedAMessageContinuesWithTheNext) {
  PipelineRing first = ring_of(0), second = ring_of(1), third = ring_of(2);
  const auto nothing = [](std::size_t) {};
  PipelineMessage produced{first.begin_produce(), kPipelineRingBytes};
  produce(first, 1, produced.length, nothing);
  EXPECT_EQ(consume(second, 1, produced, nothing), 0u);  // not the third message
  produced.begin = second.begin_produce();
  EXPECT_FALSE(second.has_space(1, 2));
  third.begin_consume(produced.begin);
  first.begin_consume(produced.begin);
  EXPECT_TRUE(second.has_space(kPipelineChunk, 2));
  produce(second, 2, produced.length, nothing);
  EXPECT_EQ(consume(third, 2, produced, nothing), 0u);
  EXPECT_EQ(consume(first, 2, produced, nothing), 0u);
}

// The members write in turn. A flag announces each message, as inline slots do in collectives.
TEST_F(PipelineRingTest, ManyReadersConsumeFromAlternatingWriters) {
  constexpr int kMembers = 3;
  constexpr std::uint64_t kRounds = 60;
  struct Announcement {
    std::atomic<bool> is_published{false};
    PipelineMessage produced{};
  };
  std::vector<Announcement> announcements(kRounds);
  std::atomic<std::uint64_t> wrong{0};
  const auto member = [&](int rank) {
    PipelineRing ring = ring_of(rank);
    const auto until = [](const auto& ready) {
      while (!ready()) std::this_thread::yield();
    };
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      Announcement& announcement = announcements[round];
      if (static_cast<int>(round / 2) % kMembers == rank) {
        announcement.produced = {ring.begin_produce(), round % 5 * kPipelineRingBytes / 2 + round};
        announcement.is_published.store(true,
                                        std::memory_order_release);  // pairs with the acquire below
        produce(ring, round, announcement.produced.length, [&](std::size_t chunk) {
          for (int other = 0; other < kMembers; ++other)
            if (other != rank) until([&] { return ring.has_space(chunk, other); });
        });
      } else {
        until([&] { return announcement.is_published.load(std::memory_order_acquire); });
        wrong += consume(ring, round, announcement.produced,
                         [&](std::size_t chunk) { until([&] { return ring.has(chunk); }); });
      }
    }
  };
  std::vector<std::thread> members;
  for (int rank = 0; rank < kMembers; ++rank) members.emplace_back(member, rank);
  for (std::thread& each : members) each.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace shim::node
