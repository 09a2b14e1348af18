// SPDX-License-Identifier: BSD-3-Clause
// Tests the two ends of the ring, and the sender's cell pool, in every interleaving of their
// accesses to shared memory, on a ring small enough to reach all boundary cases.
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "shim/transport/shm/ring.hpp"
#include "tests/node/anonymous_area.hpp"
#include "tests/transport/interleave.hpp"

namespace shim::transport {
namespace {

using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;
using testing::explore;
using testing::Fiber;
using testing::Run;

/// Pauses before every access to shared memory, and records the loaded values.
struct SteppedAccess {
  static void note(std::uint64_t value) {
    if (Fiber* fiber = Fiber::running())
      fiber->seen.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename Word>
  static Word load(Word& word, std::memory_order) {
    Fiber::pause();
    const Word value = word;
    note(value);
    return value;
  }
  template <typename Word>
  static void store(Word& word, std::type_identity_t<Word> value, std::memory_order) {
    Fiber::pause();
    word = value;
    note(~0ull);
  }
  static void expect_read(const std::byte*) {}
  static void prefault_pages(std::byte*, std::size_t) {}
  static void copy_in(std::byte* to, ConstSpan from) {
    Fiber::pause();
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    note(~1ull);
  }
  static void copy_beside_word(std::byte* to, ConstSpan from) { copy_in(to, from); }
  static void copy_in(std::byte* to, ConstSpan from, base::CopyForOtherCore&) { copy_in(to, from); }
};

/// Return a byte that a reader could mistake for a ready word or a pad at any position.
std::byte content(std::size_t number) { return static_cast<std::byte>(0xc0 + number); }

template <typename T>
std::string raw(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Zeroed memory for a ring of `lines` cache lines.
struct Block {
  explicit Block(std::size_t lines)
      : size(sizeof(RingControl) + lines * base::kCacheLine),
        begin(new (std::align_val_t{base::kCacheLine}) std::byte[size]()) {}
  ~Block() { ::operator delete[](begin, std::align_val_t{base::kCacheLine}); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  std::size_t size;
  std::byte* begin;
};

/// A ring with its two ends, and the sender's cell pool if it has one. Each object starts empty at
/// the same address, because addresses are part of the state of the ends.
struct Ring {
  explicit Ring(Block& memory, std::size_t pool_cells = 0)
      : block(clear(memory)),
        area(cell_pool_segment(pool_cells), 0),
        writer({block.begin, block.size}, &cell_pool),
        reader({block.begin, block.size}, cell_pool.memory()) {}
  static std::shared_ptr<AnonymousSegment> cell_pool_segment(std::size_t cells);
  static Block& clear(Block& memory) {
    std::memset(memory.begin, 0, memory.size);
    return memory;
  }
  bool send(std::size_t number, std::size_t packet_bytes) {
    // not on the sender's stack, which is not unwound if a run ends early
    packet.assign(packet_bytes, content(number));
    ConstSpan whole(packet);
    return writer.write(whole.first(packet_bytes / 2), whole.subspan(packet_bytes / 2));
  }
  /// Return the state. All bytes of one half of a packet are equal, so a few of them suffice. The
  /// writer's state includes its position in the cell pool.
  std::string state() const {
    std::string of_pool;
    for (std::uint32_t number = 0; number < cell_pool.memory().cells(); ++number) {
      Cell& cell = cell_pool.memory().cell(number);
      of_pool += raw(cell.is_full) + raw(cell.packet()[0]) +
                 raw(cell.packet()[kMinPooledPacket - 1]);
    }
    return std::string(reinterpret_cast<const char*>(block.begin), block.size) + raw(writer) +
           raw(reader) + of_pool;
  }

  Block& block;
  std::vector<std::byte> packet;
  AnonymousArea area;
  CellPool cell_pool{area};
  RingWriter<SteppedAccess> writer;
  RingReader<SteppedAccess> reader;
};

/// Return a zeroed cell pool, always at the same address.
std::shared_ptr<AnonymousSegment> Ring::cell_pool_segment(std::size_t cells) {
  static std::map<std::size_t, std::shared_ptr<AnonymousSegment>> segments;
  auto& segment = segments[cells];
  if (segment == nullptr)
    segment = std::make_shared<AnonymousSegment>(1, base::kCacheLine, base::kCacheLine, 0,
                                                 cells * kCellBytes);
  std::memset(segment->cell_pool(0), 0, cells * kCellBytes);
  return segment;
}

/// Check a packet in steps, to detect a packet that is overwritten while it is read.
void expect_packet(ConstSpan packet, std::size_t number, std::size_t bytes) {
  ASSERT_EQ(packet.size(), bytes) << "of packet " << number;
  for (std::size_t half = 0; half < 2; ++half) {
    Fiber::pause();
    SteppedAccess::note(half);
    std::size_t begin = half * (bytes / 2), end = half == 0 ? bytes / 2 : bytes;
    for (std::size_t i = begin; i < end; ++i)
      ASSERT_EQ(packet[i], content(number)) << "byte " << i << " of packet " << number;
  }
}

#ifdef __SANITIZE_ADDRESS__
// A step takes forty times as long with AddressSanitizer, and the interleavings are unchanged. A
// few packets suffice to show that no step accesses memory out of bounds.
const auto kBegins = ::testing::Values<std::size_t>(0, 7, 9);
constexpr std::size_t kPacketsLeftOut = 2;
#else
const auto kBegins = ::testing::Range<std::size_t>(0, 10);
constexpr std::size_t kPacketsLeftOut = 0;
#endif

/// Send these packets after `before` single-line packets, in every interleaving.
void check_all(std::size_t lines, std::size_t before, std::vector<std::size_t> packets,
               std::size_t pool_cells = 0) {
  packets.resize(packets.size() - kPacketsLeftOut);
  Block memory(lines);
  auto explored = explore([&](const std::function<bool(Run&)>& drive) {
    Ring ring(memory, pool_cells);
    for (std::size_t i = 0; i < before; ++i) {
      ASSERT_TRUE(ring.send(i % 8, 56));
      auto packet = ring.reader.next();
      ASSERT_TRUE(packet);
      ring.reader.release(*packet);
    }
    std::size_t sent = 0, received = 0, batch = 0;
    Fiber sender([&] {
      while (sent < packets.size()) {
        if (ring.send(sent, packets[sent])) ++sent;
        Fiber::running()->seen.clear();
      }
    });
    Fiber receiver([&] {
      while (received < packets.size()) {
        if (auto packet = batch == 0 ? ring.reader.first() : ring.reader.next_in_batch()) {
          expect_packet(*packet, received, packets[received]);
          if (::testing::Test::HasFatalFailure()) return;
          ring.reader.release(*packet);
          ++received;
          ++batch;
        } else {
          ring.reader.end_batch(std::exchange(batch, 0));
        }
        Fiber::running()->seen.clear();
      }
    });
    Run run{{&sender, &receiver}, [&] {
              return ring.state() + raw(sent) + raw(received) + raw(batch) + sender.seen + "|" +
                     receiver.seen;
            }};
    if (!drive(run)) return;
    ASSERT_EQ(received, packets.size());
    ASSERT_FALSE(ring.reader.next()) << "the reader found a record that was never sent";
  });
  EXPECT_GT(explored.complete, 0u);
  EXPECT_GT(explored.states, 100u);
  EXPECT_EQ(explored.stuck, 0u) << "of " << explored.states
                                << " states: a packet is lost, or space is never released";
}

/// Release up to `most` packets of a batch; return their number.
std::size_t take(RingReader<SteppedAccess>& reader, std::size_t most) {
  std::size_t taken = 0;
  while (taken < most) {
    const auto packet = taken == 0 ? reader.first() : reader.next_in_batch();
    if (!packet) break;
    reader.release(*packet);
    ++taken;
  }
  return taken;
}

TEST(RingBatch, OfAStreamHasOnlyPacketsSentBeforeItBegan) {
  Block memory(32);
  Ring ring(memory);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(ring.send(i, 8));
  EXPECT_EQ(take(ring.reader, 9), 3u);
  ring.reader.end_batch(3);
  for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(ring.send(i, 8));
  EXPECT_EQ(take(ring.reader, 1), 1u);
  ASSERT_TRUE(ring.send(2, 8));
  auto second = ring.reader.next_in_batch();
  ASSERT_TRUE(second);
  ring.reader.release(*second);
  EXPECT_FALSE(ring.reader.next_in_batch())
      << "the batch must not include packets sent after it began";
  ring.reader.end_batch(2);
  EXPECT_EQ(take(ring.reader, 9), 1u);
  ring.reader.end_batch(1);
  EXPECT_EQ(take(ring.reader, 9), 0u);
  ring.reader.end_batch(0);
  for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(ring.send(i, 8));
  EXPECT_EQ(take(ring.reader, 1), 1u);
  ASSERT_TRUE(ring.send(2, 8));
  for (std::size_t i = 0; i < 2; ++i) {
    auto next = ring.reader.next_in_batch();
    ASSERT_TRUE(next) << "no stream any more: the batch includes all packets";
    ring.reader.release(*next);
  }
}

class RingInEveryInterleaving : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RingInEveryInterleaving, DeliversSmallPackets) {
  check_all(4, GetParam(), {8, 56, 0, 40, 8, 56});
}

TEST_P(RingInEveryInterleaving, DeliversTwoPacketsInALine) {
  check_all(3, GetParam(), {28, 8, 28, 0, 16, 8});
}

TEST_P(RingInEveryInterleaving, SkipsAPadInTheSecondHalfOfALine) {
  check_all(4, GetParam(), {8, 56, 28, 8, 29});
}

TEST_P(RingInEveryInterleaving, DeliversPacketsOfSeveralLines) {
  check_all(8, GetParam(), {120, 8, 100, 56, 120});
}

TEST_P(RingInEveryInterleaving, SkipsAPadBeforeEveryWrap) {
  check_all(9, GetParam(), {120, 120, 120, 120, 120});
}

// A packet of this size does not fit the ring, so it must use the cell pool.
TEST_P(RingInEveryInterleaving, DeliversPooledPackets) {
  check_all(4, GetParam(),
            {kMinPooledPacket, kMinPooledPacket, 8, kMinPooledPacket, kMinPooledPacket}, 2);
}

INSTANTIATE_TEST_SUITE_P(StartingAt, RingInEveryInterleaving, kBegins);

TEST(Ring, SizesMatchTheDocumentation) {
  EXPECT_EQ(record_bytes(0), 32u);
  EXPECT_EQ(record_bytes(28), 32u);
  EXPECT_EQ(record_bytes(29), 64u);
  EXPECT_EQ(record_bytes(56), 64u);
  EXPECT_EQ(record_bytes(57), 128u);
  EXPECT_EQ(ring_max_packet(ring_capacity(64 * 1024)), 16312u);
  EXPECT_EQ(ring_max_packet(ring_capacity(512)), 56u);
}

TEST(Ring, TwoShortPacketsShareALineAndLongerOnesBeginALine) {
  Block block(1024 - sizeof(RingControl) / base::kCacheLine);
  RingWriter<> writer({block.begin, block.size});
  RingReader<> reader({block.begin, block.size});
  const auto place_of = [&](std::size_t bytes) {
    EXPECT_TRUE(writer.write(std::vector<std::byte>(bytes), {}));
    const ConstSpan packet = reader.next().value();
    reader.release(packet);
    return static_cast<std::size_t>(packet.data() - block.begin);
  };
  for (int round = 0; round < 1000; ++round) {
    const std::size_t first = place_of(28), second = place_of(8);
    EXPECT_EQ(first % base::kCacheLine, kWordBytes) << round;
    EXPECT_EQ(second, first + kHalfLine) << round;
    for (std::size_t bytes : {29, 56, 57, 200}) {
      if (round % 2 == 0) place_of(0);
      EXPECT_EQ(place_of(bytes) % base::kCacheLine, kFrontBytes) << bytes << " bytes, " << round;
    }
  }
}

// A pair of processes that exchange little data then uses one page, which also holds the first half
// page of the other direction.
TEST(Ring, FirstPacketsUseTheHalfPageNextToTheOtherDirection) {
  for (auto near : {RingMemory::Near::beginning, RingMemory::Near::end}) {
    Block block(1024 - sizeof(RingControl) / base::kCacheLine);
    const RingMemory memory(block.begin, block.size, near);
    RingWriter<> writer(memory);
    RingReader<> reader(memory);
    const auto exchange = [&](std::size_t number, std::size_t bytes) {
      const std::vector<std::byte> packet(bytes, content(number));
      ASSERT_TRUE(writer.write(packet, {}));
      const auto found = reader.next();
      ASSERT_TRUE(found && std::equal(found->begin(), found->end(), packet.begin(), packet.end()))
          << number;
      reader.release(*found);
    };
    for (std::size_t number = 0; number < 20; ++number) exchange(number, 56);
    const std::size_t begin = near == RingMemory::Near::end ? block.size - 2048 : 0;
    for (std::size_t at = 0; at < block.size; ++at) {
      ASSERT_TRUE(block.begin[at] == std::byte{0} || (at >= begin && at < begin + 2048)) << at;
    }
    for (std::size_t number = 20; number < 2000; ++number)
      exchange(number, number % 3 == 0 ? 1000 : 8);
  }
}

/// Counts the calls of prefault_pages.
struct CountingAccess : DirectAccess {
  static inline std::size_t calls = 0, bytes = 0;
  static void prefault_pages(std::byte*, std::size_t met) {
    ++calls;
    bytes += met;
  }
};

TEST(Ring, SenderBeyondTheSharedPagePrefaultsAllPagesAtOnce) {
  Block block(1024 - sizeof(RingControl) / base::kCacheLine);
  const RingMemory memory(block.begin, block.size);
  CountingAccess::calls = CountingAccess::bytes = 0;
  RingWriter<CountingAccess> writer(memory);
  RingReader<> reader(memory);
  const auto send = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(writer.write(std::vector<std::byte>(8), {}));
      reader.release(reader.next().value());
    }
  };
  send(16);
  EXPECT_EQ(CountingAccess::calls, 0u);
  send(2000);
  EXPECT_EQ(CountingAccess::calls, 1u);
  EXPECT_EQ(CountingAccess::bytes, memory.capacity());
}

TEST(Ring, LargestPacketFitsAnEmptyRingAtEveryPosition) {
  for (std::size_t lines = 4; lines <= 40; ++lines)
    for (std::size_t before = 0; before < 3 * lines; ++before) {
      Block memory(lines);
      Ring ring(memory);
      for (std::size_t i = 0; i < before; ++i) {
        ASSERT_TRUE(ring.send(1, 8));
        const auto passed = ring.reader.next();
        ASSERT_TRUE(passed);
        ring.reader.release(*passed);
      }
      std::size_t largest = ring_max_packet(lines * base::kCacheLine);
      ASSERT_TRUE(ring.send(2, largest)) << lines << " lines, after " << before;
      auto packet = ring.reader.next();
      ASSERT_TRUE(packet);
      EXPECT_EQ(packet->size(), largest);
    }
}

}  // namespace
}  // namespace shim::transport
