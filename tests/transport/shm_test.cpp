// SPDX-License-Identifier: BSD-3-Clause
// Tests packets of the shared-memory transport between real processes, including failures.
#include "shim/transport/shm/shm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "shim/transport/receive_in_place.hpp"
#include "shim/transport/shm/cell_pool.hpp"
#include "shim/transport/shm/ring.hpp"
#include "shim/transport/stream_limits.hpp"
#include "tests/transport/processes.hpp"
#include "tests/transport/rig.hpp"
#include "tests/transport/shm_rig.hpp"

namespace shim::transport {
namespace {

using base::ErrorClass;
using testing::AnonymousArea;
using testing::AnonymousSegment;
using testing::bytes_of;
using testing::CallSink;
using testing::Child;
using testing::kTestSeconds;
using testing::make_segment;
using testing::ShmProcess;

/// Small, so that the pool fills up soon.
constexpr std::size_t kSmallPool = 16 * kCellBytes;

CellPoolMemory cell_pool_of(AnonymousSegment& segment, std::uint32_t slot) {
  return {segment.cell_pool(slot), segment.cell_pool_bytes()};
}

std::size_t full_cells(AnonymousSegment& segment, std::uint32_t slot) {
  const CellPoolMemory cell_pool = cell_pool_of(segment, slot);
  std::size_t full = 0;
  for (std::uint32_t cell = 0; cell < cell_pool.cells(); ++cell)
    full += DirectAccess::load(cell_pool.cell(cell).is_full, std::memory_order_relaxed) != 0;
  return full;
}

/// True if the first cell has ever been filled.
bool has_been_used(AnonymousSegment& segment, std::uint32_t slot) {
  return std::ranges::any_of(
      std::span(cell_pool_of(segment, slot).cell(0).packet(), kMinPooledPacket),
      [](std::byte byte) { return byte != std::byte{}; });
}

/// Return packet `number` of `sender`: both numbers, then bytes derived from them.
std::vector<std::byte> packet_of(std::uint32_t sender, std::uint32_t number, std::size_t largest) {
  std::minstd_rand random(sender * 7919 + number + 1);
  std::size_t most = random() % 5 == 0 ? largest - 8 : 120;
  std::vector<std::byte> packet = testing::body_of(random(), 8 + random() % (most + 1));
  std::memcpy(packet.data(), &sender, 4);
  std::memcpy(packet.data() + 4, &number, 4);
  return packet;
}

/// Checks that each sender's packets arrive complete and in order.
class Checker {
 public:
  explicit Checker(std::size_t largest) : largest_(largest) {}
  void operator()(ConstSpan packet) {
    std::uint32_t sender, number;
    ASSERT_GE(packet.size(), 8u);
    std::memcpy(&sender, packet.data(), 4);
    std::memcpy(&number, packet.data() + 4, 4);
    ASSERT_EQ(number, next_[sender]) << "from " << sender;
    ++next_[sender];
    ++total_;
    ASSERT_TRUE(std::ranges::equal(packet, packet_of(sender, number, largest_)))
        << sender << " " << number;
  }
  std::uint32_t total() const { return total_; }

 private:
  std::size_t largest_;
  std::map<std::uint32_t, std::uint32_t> next_;
  std::uint32_t total_ = 0;
};

void receive_until(ShmProcess& process, Checker& checker, std::uint32_t total,
                   const base::Deadline& deadline) {
  CallSink sink([&](ConstSpan packet) { checker(packet); });
  while (checker.total() < total && !::testing::Test::HasFatalFailure()) {
    auto count = process.transport->poll(sink);
    ASSERT_TRUE(count);
    if (*count == 0) sched_yield();
    ASSERT_FALSE(deadline.passed()) << checker.total() << " of " << total;
  }
}

void stress(std::uint32_t senders, std::uint32_t packets, std::size_t ring_bytes,
            std::size_t cell_pool_bytes = 0) {
  ShmSettings settings{.ring_bytes = ring_bytes};
  auto segment = make_segment(senders + 1, settings, cell_pool_bytes);
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  std::vector<Child> children;
  for (std::uint32_t slot = 1; slot <= senders; ++slot)
    children.emplace_back([&, slot] {
      ShmProcess process(segment, slot, settings);
      process.area.set_ready();
      Link& link = process.link_to(0);
      for (std::uint32_t n = 0; n < packets; ++n) {
        const auto packet = packet_of(slot, n, process.transport->max_packet_bytes());
        if (n % 3 == 0)
          process.send_in_place(link, packet, deadline);
        else
          process.send(link, packet, deadline);
      }
    });
  ShmProcess process(segment, 0, settings);
  process.area.set_ready();
  Checker checker(process.transport->max_packet_bytes());
  receive_until(process, checker, senders * packets, deadline);
  for (auto& child : children) child.join();
  for (std::uint32_t slot = 1; cell_pool_bytes != 0 && slot <= senders; ++slot) {
    EXPECT_TRUE(has_been_used(*segment, slot)) << slot;
    EXPECT_EQ(full_cells(*segment, slot), 0u) << slot;
  }
}

TEST(Shm, TwoProcessesExchangeRandomPackets) { stress(1, 12'000, 64 * 1024); }
TEST(Shm, TwoProcessesExchangePacketsOverATinyRing) { stress(1, 30'000, 1024); }
TEST(Shm, ReceivesFromManySenders) { stress(7, 4000, 4096); }
TEST(Shm, TwoProcessesExchangePacketsThroughACellPool) { stress(1, 12'000, 64 * 1024, kSmallPool); }
TEST(Shm, ReceivesFromManySendersThroughCellPools) { stress(5, 3000, 64 * 1024, kSmallPool); }

// Packets to the idle receiver fill the shared cell pool; packets to others then use the ring.
TEST(Shm, IdleReceiverDoesNotBlockOthers) {
  const ShmSettings settings;
  const auto segment = make_segment(3, settings, kSmallPool);
  ShmProcess sender(segment, 0), reader(segment, 1), late(segment, 2);
  for (ShmProcess* process : {&sender, &reader, &late}) process->area.set_ready();
  Link &to_reader = sender.link_to(1), &to_late = sender.link_to(2);
  const std::size_t largest = sender.transport->max_packet_bytes();
  const auto long_packet = [&](std::uint32_t number) {
    auto packet = packet_of(0, number, largest);
    packet.resize(std::max(packet.size(), kMinPooledPacket));
    return packet;
  };
  const auto is_whole = [&](ConstSpan packet, std::uint32_t number) {
    return std::ranges::equal(packet, long_packet(number));
  };
  std::uint32_t sent_late = 0;
  while (*sender.transport->try_send(to_late, long_packet(sent_late), {}) == Attempt::done)
    ++sent_late;
  EXPECT_GT(sent_late, kSmallPool / kCellBytes);
  EXPECT_EQ(full_cells(*segment, 0), kSmallPool / kCellBytes);
  std::uint32_t came = 0;
  CallSink now([&](ConstSpan packet) { ASSERT_TRUE(is_whole(packet, came++)); });
  for (std::uint32_t number = 0; number < 200; ++number) {
    ASSERT_EQ(*sender.transport->try_send(to_reader, long_packet(number), {}), Attempt::done)
        << number;
    ASSERT_TRUE(reader.transport->poll(now));
  }
  EXPECT_EQ(came, 200u);
  std::uint32_t came_late = 0;
  CallSink later([&](ConstSpan packet) { ASSERT_TRUE(is_whole(packet, came_late++)); });
  while (came_late < sent_late) ASSERT_GT(*late.transport->poll(later), 0);
  EXPECT_EQ(full_cells(*segment, 0), 0u);
}

TEST(Shm, SendReturnsAgainUntilThePeerIsReady) {
  auto segment = make_segment(2);
  ShmProcess a(segment, 0);
  Link& link = a.link_to(1);
  EXPECT_EQ(*a.transport->try_send(link, bytes_of(1), {}), Attempt::again);
  ShmProcess b(segment, 1);
  b.area.set_ready();
  EXPECT_EQ(*a.transport->try_send(link, bytes_of(1), {}), Attempt::done);
  int came = 0;
  CallSink sink([&](ConstSpan) { ++came; });
  ASSERT_TRUE(b.transport->poll(sink));
  EXPECT_EQ(came, 1);
}

TEST(Shm, PollLinkReceivesFromOneLinkOnly) {
  auto segment = make_segment(3);
  ShmProcess receiver(segment, 0), one(segment, 1), two(segment, 2);
  for (ShmProcess* process : {&receiver, &one, &two}) process->area.set_ready();
  Link& to_two = receiver.link_to(2);
  std::vector<int> came;
  CallSink sink([&](ConstSpan packet) { came.push_back(std::to_integer<int>(packet[0])); });
  EXPECT_EQ(*receiver.transport->poll_link(to_two, sink), 0);
  for (auto [process, number] : {std::pair(&one, 1), std::pair(&two, 2), std::pair(&two, 3)})
    ASSERT_EQ(*process->transport->try_send(process->link_to(0), bytes_of(number), {}),
              Attempt::done);
  EXPECT_EQ(*receiver.transport->poll_link(to_two, sink), 2);
  EXPECT_EQ(came, (std::vector{2, 3}));
  EXPECT_EQ(*receiver.transport->poll(sink), 1);
  EXPECT_EQ(came, (std::vector{2, 3, 1}));
}

void detach_and_reattach(const ShmSettings& settings, std::size_t cell_pool_bytes) {
  auto segment = make_segment(2, settings, cell_pool_bytes);
  std::uint32_t sent = 0;
  Checker checker(ring_max_packet(ring_capacity(settings.ring_bytes)));
  CallSink sink([&](ConstSpan packet) { checker(packet); });
  std::mt19937 random(5);
  for (int incarnation = 0; incarnation < 300; ++incarnation) {
    ShmProcess a(segment, 0, settings);
    a.area.set_ready();
    Link& link = a.link_to(1);
    ShmProcess b(segment, 1, settings);
    b.area.set_ready();
    for (unsigned i = random() % 20; i > 0; --i)
      if (*a.transport->try_send(link, packet_of(0, sent, a.transport->max_packet_bytes()), {}) ==
          Attempt::done)
        ++sent;
    if (random() % 3 == 0) continue;  // the next incarnation receives the packets
    ASSERT_TRUE(b.transport->poll(sink));
  }
  ShmProcess b(segment, 1, settings);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(b.transport->poll(sink));
  EXPECT_GT(sent, 1000u);
  EXPECT_EQ(checker.total(), sent);
  if (cell_pool_bytes != 0) {
    EXPECT_TRUE(has_been_used(*segment, 0));
    EXPECT_EQ(full_cells(*segment, 0), 0u);
  }
}

TEST(Shm, ReportsTheStreamBudgetOfItsCellPool) {
  const auto stream_budget = [](std::uint32_t processes, std::size_t cell_pool_bytes) {
    return ShmProcess(make_segment(processes, {}, cell_pool_bytes), 0)
        .transport->stream_limits()
        ->stream_budget();
  };
  EXPECT_EQ(stream_budget(2, 0).all, 0u);
  EXPECT_EQ(stream_budget(2, kSmallPool).all, kSmallPool);
  EXPECT_EQ(stream_budget(2, kSmallPool).for_each, kSmallPool);
  EXPECT_EQ(stream_budget(5, kSmallPool).all, kSmallPool);
  EXPECT_EQ(stream_budget(5, kSmallPool).for_each, kSmallPool / 4);
  EXPECT_EQ(stream_budget(1, kSmallPool).for_each, kSmallPool);
}

TEST(Shm, PooledPacketCanBePeekedAndDropped) {
  const auto segment = make_segment(2, {}, kSmallPool);
  ShmProcess sender(segment, 0), receiver(segment, 1);
  for (ShmProcess* process : {&sender, &receiver}) process->area.set_ready();
  Link& back = receiver.link_to(0);
  int came = 0;
  CallSink sink([&](ConstSpan) { ++came; });
  const std::vector<std::byte> packet = testing::body_of(1, kMinPooledPacket);
  ASSERT_EQ(*sender.transport->try_send(sender.link_to(1), packet, {}), Attempt::done);
  ASSERT_EQ(*receiver.transport->poll(sink), 1);  // the receiver now knows the ring
  ASSERT_EQ(*sender.transport->try_send(sender.link_to(1), packet, {}), Attempt::done);
  EXPECT_EQ(full_cells(*segment, 0), 1u);
  const ConstSpan front = receiver.transport->receive_in_place()->front(back);
  ASSERT_TRUE(std::ranges::equal(front, packet));
  receiver.transport->receive_in_place()->drop_front(back, front);
  EXPECT_EQ(full_cells(*segment, 0), 0u);
  EXPECT_EQ(*receiver.transport->poll(sink), 0);
  EXPECT_EQ(came, 1);
}

TEST(Shm, ReattachContinuesThePacketSequence) { detach_and_reattach({.ring_bytes = 2048}, 0); }
TEST(Shm, ReattachContinuesWithACellPool) { detach_and_reattach({}, kSmallPool); }

TEST(Shm, FullRingOfADeadProcessIsAnError) {
  ShmSettings settings{.ring_bytes = 1024};
  auto segment = make_segment(2, settings);
  ShmProcess a(segment, 0, settings);
  ShmProcess b(segment, 1, settings);
  b.area.set_ready();
  Link& link = a.link_to(1);
  while (*a.transport->try_send(link, bytes_of(1), {}) == Attempt::done) {
  }
  auto full = base::Deadline::after_seconds(0.1);
  while (!full.passed())
    ASSERT_EQ(*a.transport->try_send(link, bytes_of(1), {}), Attempt::again)
        << "the peer is still alive";
  segment->mark_dead(1);
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  for (;;) {
    auto attempt = a.transport->try_send(link, bytes_of(1), {});
    if (!attempt) {
      EXPECT_EQ(attempt.error().error_class(), ErrorClass::proc_aborted);
      EXPECT_NE(attempt.error().text().find("it exited while messages to it were queued"),
                std::string::npos);
      break;
    }
    ASSERT_FALSE(deadline.passed());
  }
}

TEST(Shm, OpenFailsWithoutMemoryToSend) {
  auto segment = make_segment(2);
  ShmProcess a(segment, 0);
  a.area.refuse_memory(ErrorClass::no_space);
  auto link = a.transport->open(shm_address(1, {}));
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().error_class(), ErrorClass::no_space);
}

TEST(Shm, RefusesUnusableSettings) {
  auto segment = make_segment(2);
  AnonymousArea area(segment, 0);
  for (std::size_t wrong :
       {std::size_t{0}, std::size_t{256}, std::size_t{65535}, std::size_t{100'000}}) {
    auto made = make_shm(area, {.ring_bytes = wrong});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().error_class(), ErrorClass::arg);
  }
  auto made = make_shm(area, {.ring_bytes = 1 << 20});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error_class(), ErrorClass::size);
}

TEST(Shm, RefusesAnAddressOfAnotherJob) {
  auto segment = make_segment(2);
  ShmProcess a(segment, 0, {.cookie = 1});
  auto link = a.transport->open(shm_address(1, {.cookie = 2}));
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().error_class(), ErrorClass::arg);
}

TEST(Shm, OpeningTwiceReturnsOneLink) {
  auto segment = make_segment(2);
  ShmProcess a(segment, 0);
  ShmProcess b(segment, 1);
  b.area.set_ready();
  EXPECT_EQ(&a.link_to(1), &a.link_to(1));
}

TEST(Shm, ReceivesFromMoreThan64Slots) {
  constexpr std::uint32_t kSlots = 130;
  ShmSettings settings{.ring_bytes = 512};
  auto segment = make_segment(kSlots, settings);
  ShmProcess receiver(segment, 64, settings);
  receiver.area.set_ready();
  std::vector<int> received(kSlots, 0);
  CallSink sink([&](ConstSpan packet) {
    std::uint32_t from;
    std::memcpy(&from, packet.data(), sizeof from);
    ++received[from];
  });
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    ShmProcess sender(segment, slot, settings);
    ASSERT_EQ(*sender.transport->try_send(sender.link_to(64), bytes_of(slot), {}), Attempt::done);
  }
  for (int polls = 0; polls < 5; ++polls) ASSERT_TRUE(receiver.transport->poll(sink));
  EXPECT_EQ(received, std::vector<int>(kSlots, 1));
}

}  // namespace
}  // namespace shim::transport
