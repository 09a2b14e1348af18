// SPDX-License-Identifier: BSD-3-Clause
// Tests the shared-memory transport between real processes, including failures.
#include "shim/transport/shm/shm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "shim/base/descriptor.hpp"
#include "shim/node/slot.hpp"
#include "shim/transport/cooperative_writes.hpp"
#include "shim/transport/receive_in_place.hpp"
#include "shim/transport/remote_reads.hpp"
#include "shim/transport/send_in_place.hpp"
#include "shim/transport/shm/cell_pool.hpp"
#include "shim/transport/shm/ring.hpp"
#include "shim/transport/sleeper.hpp"
#include "shim/transport/stream_limits.hpp"
#include "tests/node/anonymous_area.hpp"
#include "tests/transport/processes.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport {
namespace {

using base::ErrorClass;
using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;
using testing::bytes_of;
using testing::CallSink;
using testing::Child;
using testing::kTestSeconds;

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

std::shared_ptr<AnonymousSegment> make_segment(std::uint32_t slots,
                                               const ShmSettings& settings = {},
                                               std::size_t cell_pool_bytes = 0) {
  return std::make_shared<AnonymousSegment>(slots, shm_slot_bytes(slots), shm_pair_bytes(settings),
                                            0, cell_pool_bytes);
}

/// The transport of one process.
struct Node {
  Node(std::shared_ptr<AnonymousSegment> segment, std::uint32_t slot, const ShmSettings& used = {})
      : settings(used), area(std::move(segment), slot), transport(*make_shm(area, settings)) {}
  Link& link_to(std::uint32_t slot) { return **transport->open(shm_address(slot, settings)); }
  /// Send a packet; wait for free space and for the peer.
  void send(Link& link, ConstSpan packet, const base::Deadline& deadline) {
    while (*transport->try_send(link, packet.first(8), packet.subspan(8)) != Attempt::done)
      wait_for_room(deadline);
  }
  /// As send(), but produce the payload in place if the transport supports it.
  void send_in_place(Link& link, ConstSpan packet, const base::Deadline& deadline) {
    const ConstSpan header = packet.first(8), payload = packet.subspan(8);
    std::span<std::byte> place;
    Attempt attempt;
    while ((attempt = *transport->send_in_place()->try_reserve(link, header, payload.size(),
                                                               place)) == Attempt::again)
      wait_for_room(deadline);
    if (attempt == Attempt::unsupported) return send(link, packet, deadline);
    std::ranges::copy(payload, place.begin());
    transport->send_in_place()->publish(link);
  }
  static void wait_for_room(const base::Deadline& deadline) {
    sched_yield();
    if (deadline.passed()) std::_Exit(9);
  }
  ShmSettings settings;
  AnonymousArea area;
  std::unique_ptr<Transport> transport;
};

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

void receive_until(Node& node, Checker& checker, std::uint32_t total,
                   const base::Deadline& deadline) {
  CallSink sink([&](ConstSpan packet) { checker(packet); });
  while (checker.total() < total && !::testing::Test::HasFatalFailure()) {
    auto count = node.transport->poll(sink);
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
      Node node(segment, slot, settings);
      node.area.set_ready();
      Link& link = node.link_to(0);
      for (std::uint32_t n = 0; n < packets; ++n) {
        const auto packet = packet_of(slot, n, node.transport->max_packet_bytes());
        if (n % 3 == 0)
          node.send_in_place(link, packet, deadline);
        else
          node.send(link, packet, deadline);
      }
    });
  Node node(segment, 0, settings);
  node.area.set_ready();
  Checker checker(node.transport->max_packet_bytes());
  receive_until(node, checker, senders * packets, deadline);
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
  Node sender(segment, 0), reader(segment, 1), late(segment, 2);
  for (Node* node : {&sender, &reader, &late}) node->area.set_ready();
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
  Node a(segment, 0);
  Link& link = a.link_to(1);
  EXPECT_EQ(*a.transport->try_send(link, bytes_of(1), {}), Attempt::again);
  Node b(segment, 1);
  b.area.set_ready();
  EXPECT_EQ(*a.transport->try_send(link, bytes_of(1), {}), Attempt::done);
  int came = 0;
  CallSink sink([&](ConstSpan) { ++came; });
  ASSERT_TRUE(b.transport->poll(sink));
  EXPECT_EQ(came, 1);
}

TEST(Shm, PollLinkReceivesFromOneLinkOnly) {
  auto segment = make_segment(3);
  Node receiver(segment, 0), one(segment, 1), two(segment, 2);
  for (Node* node : {&receiver, &one, &two}) node->area.set_ready();
  Link& to_two = receiver.link_to(2);
  std::vector<int> came;
  CallSink sink([&](ConstSpan packet) { came.push_back(std::to_integer<int>(packet[0])); });
  EXPECT_EQ(*receiver.transport->poll_link(to_two, sink), 0);
  for (auto [node, number] : {std::pair(&one, 1), std::pair(&two, 2), std::pair(&two, 3)})
    ASSERT_EQ(*node->transport->try_send(node->link_to(0), bytes_of(number), {}), Attempt::done);
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
    Node a(segment, 0, settings);
    a.area.set_ready();
    Link& link = a.link_to(1);
    Node b(segment, 1, settings);
    b.area.set_ready();
    for (unsigned i = random() % 20; i > 0; --i)
      if (*a.transport->try_send(link, packet_of(0, sent, a.transport->max_packet_bytes()), {}) ==
          Attempt::done)
        ++sent;
    if (random() % 3 == 0) continue;  // the next incarnation receives the packets
    ASSERT_TRUE(b.transport->poll(sink));
  }
  Node b(segment, 1, settings);
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
    return Node(make_segment(processes, {}, cell_pool_bytes), 0)
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
  Node sender(segment, 0), receiver(segment, 1);
  for (Node* node : {&sender, &receiver}) node->area.set_ready();
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
  Node a(segment, 0, settings);
  Node b(segment, 1, settings);
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

// The owner sleeps for short times while packets are queued, and it alone knows when it gives up a
// queue, for example because the peer has died.
TEST(Shm, RefusedSendDoesNotShortenLaterSleeps) {
  constexpr ShmSettings kSettings{.ring_bytes = 1024};
  constexpr base::Nanoseconds kLongest = 1'000'000;  // of a sleep of this transport
  auto segment = make_segment(2, kSettings);
  Node a(segment, 0, kSettings), b(segment, 1, kSettings);
  b.area.set_ready();
  Link& link = a.link_to(1);
  while (*a.transport->try_send(link, bytes_of(1), {}) == Attempt::done) {
  }
  segment->mark_dead(1);
  const auto begin = base::now_ns();
  a.transport->sleeper()->sleep(kLongest, [] { return false; }, {});
  EXPECT_GE(base::now_ns() - begin, kLongest / 2);
}

TEST(Shm, OpenFailsWithoutMemoryToSend) {
  auto segment = make_segment(2);
  Node a(segment, 0);
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
  Node a(segment, 0, {.cookie = 1});
  auto link = a.transport->open(shm_address(1, {.cookie = 2}));
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().error_class(), ErrorClass::arg);
}

TEST(Shm, OpeningTwiceReturnsOneLink) {
  auto segment = make_segment(2);
  Node a(segment, 0);
  Node b(segment, 1);
  b.area.set_ready();
  EXPECT_EQ(&a.link_to(1), &a.link_to(1));
}

TEST(Shm, ReceivesFromMoreThan64Slots) {
  constexpr std::uint32_t kSlots = 130;
  ShmSettings settings{.ring_bytes = 512};
  auto segment = make_segment(kSlots, settings);
  Node receiver(segment, 64, settings);
  receiver.area.set_ready();
  std::vector<int> received(kSlots, 0);
  CallSink sink([&](ConstSpan packet) {
    std::uint32_t from;
    std::memcpy(&from, packet.data(), sizeof from);
    ++received[from];
  });
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    Node sender(segment, slot, settings);
    ASSERT_EQ(*sender.transport->try_send(sender.link_to(64), bytes_of(slot), {}), Attempt::done);
  }
  for (int polls = 0; polls < 5; ++polls) ASSERT_TRUE(receiver.transport->poll(sink));
  EXPECT_EQ(received, std::vector<int>(kSlots, 1));
}

/// Memory of a forked child, which the parent reads.
struct MemoryRegistration {
  std::atomic<std::uint64_t> address;
  std::atomic<bool> done;
};

/// Run `read` while a child offers `bytes` bytes of its memory, each with the value 0x6b.
void with_offer(const ShmSettings& settings, std::size_t bytes, bool spoil_probe,
                const std::function<void(Node&, std::uint64_t)>& read) {
  auto segment = make_segment(2, settings);
  AnonymousSegment extra(1, 4096, 4096);
  auto* offer = reinterpret_cast<MemoryRegistration*>(extra.slot(0));
  Child child([&] {
    Node node(segment, 1, settings);
    if (spoil_probe) ++reinterpret_cast<node::SlotMemory*>(segment->slot(1))->probe_value;
    node.area.set_ready();
    std::vector<std::byte> memory(bytes, std::byte{0x6b});
    offer->address = reinterpret_cast<std::uintptr_t>(memory.data());
    auto deadline = base::Deadline::after_seconds(kTestSeconds);
    while (!offer->done && !deadline.passed()) sched_yield();
  });
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  while (offer->address == 0 && !deadline.passed()) sched_yield();
  Node node(segment, 0, settings);
  read(node, offer->address);
  offer->done = true;
  child.join();
}

TEST(Shm, ReadsMemoryOfAnotherProcess) {
  constexpr std::size_t kBytes = 5 << 20;
  with_offer({}, kBytes, false, [&](Node& node, std::uint64_t address) {
    std::vector<std::byte> into(kBytes);
    auto attempt = node.transport->remote_reads()->try_read(node.link_to(1), address, into);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported)
      GTEST_SKIP() << "the kernel forbids process_vm_readv here";
    EXPECT_EQ(into, std::vector<std::byte>(kBytes, std::byte{0x6b}));
    EXPECT_EQ(node.transport->counts().bytes_read, kBytes);
    auto wrong = node.transport->remote_reads()->try_read(node.link_to(1), 8, into);
    ASSERT_FALSE(wrong) << "no memory is mapped at this address";
    EXPECT_EQ(wrong.error().error_class(), ErrorClass::other);
  });
}

TEST(Shm, ReadsIntoManyPiecesAtOnce) {
  constexpr std::size_t kPieces = 200, kPiece = 300,
                        kHole = 7;  // more than one system call accepts
  with_offer({}, kPieces * kPiece, false, [&](Node& node, std::uint64_t address) {
    std::vector<std::byte> memory(kPieces * (kPiece + kHole)), expected = memory;
    std::vector<std::span<std::byte>> pieces;
    for (std::size_t i = 0; i < kPieces; ++i) {
      pieces.push_back(std::span(memory).subspan(i * (kPiece + kHole), i == 3 ? 0 : kPiece));
      std::ranges::fill(std::span(expected).subspan(i * (kPiece + kHole), pieces.back().size()),
                        std::byte{0x6b});
    }
    auto attempt = node.transport->remote_reads()->try_read_pieces(node.link_to(1), address,
                                                                   pieces);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported)
      GTEST_SKIP() << "the kernel forbids process_vm_readv here";
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(node.transport->counts().bytes_read, (kPieces - 1) * kPiece);
    EXPECT_FALSE(node.transport->remote_reads()->try_read_pieces(node.link_to(1), 8, pieces))
        << "no memory is mapped at this address";
  });
}

TEST(Shm, WritesMemoryOfAnotherProcess) {
  constexpr std::size_t kBytes = 5 << 20;
  with_offer({}, kBytes, false, [&](Node& node, std::uint64_t address) {
    const std::vector<std::byte> bytes(kBytes, std::byte{0x3c});
    auto attempt = node.transport->cooperative_writes()->try_write(node.link_to(1), address, bytes);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported)
      GTEST_SKIP() << "the kernel forbids process_vm_writev here";
    std::vector<std::byte> back(kBytes);
    ASSERT_EQ(*node.transport->remote_reads()->try_read(node.link_to(1), address, back),
              Attempt::done);
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(*node.transport->cooperative_writes()->try_write(node.link_to(1), 0, {}),
              Attempt::done)
        << "writes are supported";
    EXPECT_FALSE(node.transport->cooperative_writes()->try_write(node.link_to(1), 8, bytes))
        << "no memory is mapped at this address";
  });
}

/// Return the position in the first page of `memory` that lies `distance` bytes after `address`,
/// modulo the page size.
std::byte* behind(std::uint64_t address, std::size_t distance, std::vector<std::byte>& memory) {
  return memory.data() +
         (address + distance - reinterpret_cast<std::uintptr_t>(memory.data())) % 4096;
}

// Copies use a bounce buffer if the target lies just after the source modulo the page size.
TEST(Shm, CopiesAtEveryPageOffset) {
  constexpr std::size_t kBytes = 200'003, kRoom = kBytes + 4096 + 64;
  with_offer({}, kBytes, false, [&](Node& node, std::uint64_t address) {
    for (const std::size_t distance : {0, 1, 16, 31, 32, 4095, 4080}) {
      std::vector<std::byte> from(kRoom), into(kRoom);
      for (std::size_t i = 0; i < kRoom; ++i)
        from[i] = static_cast<std::byte>(i * 2654435761 >> 13 ^ distance);
      const std::span<const std::byte> bytes(behind(address, 4096 - distance, from), kBytes);
      auto attempt = node.transport->cooperative_writes()->try_write(node.link_to(1), address,
                                                                     bytes);
      ASSERT_TRUE(attempt) << attempt.error().text();
      if (*attempt == Attempt::unsupported)
        GTEST_SKIP() << "the kernel forbids process_vm_writev here";
      std::byte* const target = behind(address, distance, into);
      ASSERT_EQ(
          *node.transport->remote_reads()->try_read(node.link_to(1), address, {target, kBytes}),
          Attempt::done);
      EXPECT_TRUE(std::ranges::equal(bytes, std::span(target, kBytes))) << distance;
      EXPECT_EQ(std::count(into.begin(), into.end(), std::byte{}),
                kRoom - kBytes + static_cast<std::size_t>(std::ranges::count(bytes, std::byte{})))
          << distance << ": bytes around the target must stay unwritten";
    }
  });
}

TEST(Shm, PiecesMayHaveAnyPageOffset) {
  constexpr std::size_t kPieces = 12, kPiece = 5000, kHole = 7, kBytes = kPieces * kPiece;
  with_offer({}, kBytes, false, [&](Node& node, std::uint64_t address) {
    std::vector<std::byte> bytes(kBytes), memory(kPieces * (kPiece + kHole) + 4096), found;
    for (std::size_t i = 0; i < kBytes; ++i)
      bytes[i] = static_cast<std::byte>(i * 2654435761 >> 13);
    auto attempt = node.transport->cooperative_writes()->try_write(node.link_to(1), address, bytes);
    ASSERT_TRUE(attempt) << attempt.error().text();
    if (*attempt == Attempt::unsupported)
      GTEST_SKIP() << "the kernel forbids process_vm_writev here";
    std::vector<std::span<std::byte>> pieces;
    for (std::size_t i = 0; i < kPieces; ++i)
      pieces.emplace_back(behind(address, 0, memory) + i * (kPiece + kHole), kPiece);
    ASSERT_EQ(*node.transport->remote_reads()->try_read_pieces(node.link_to(1), address, pieces),
              Attempt::done);
    for (const auto piece : pieces) found.insert(found.end(), piece.begin(), piece.end());
    EXPECT_EQ(found, bytes);
  });
}

TEST(Shm, WritesAreUnsupportedIfForbiddenOrToAReusedProcessId) {
  for (const bool is_forbidden :
       {true, false})  // otherwise the process id belongs to another process
    with_offer(
        {.single_copy = !is_forbidden}, 64, !is_forbidden, [&](Node& node, std::uint64_t address) {
          const std::byte bytes[64]{};
          EXPECT_EQ(
              *node.transport->cooperative_writes()->try_write(node.link_to(1), address, bytes),
              Attempt::unsupported);
          EXPECT_EQ(*node.transport->cooperative_writes()->try_write(node.link_to(1), 0, {}),
                    Attempt::unsupported);
        });
}

TEST(Shm, ReadsAreUnsupportedIfTheSettingForbidsThem) {
  with_offer({.single_copy = false}, 64, false, [](Node& node, std::uint64_t address) {
    std::byte into[64];
    EXPECT_EQ(*node.transport->remote_reads()->try_read(node.link_to(1), address, into),
              Attempt::unsupported);
  });
}

TEST(Shm, ReadsAreUnsupportedFromAReusedProcessId) {
  with_offer({}, 64, true, [](Node& node, std::uint64_t address) {
    std::byte into[64]{};
    EXPECT_EQ(*node.transport->remote_reads()->try_read(node.link_to(1), address, into),
              Attempt::unsupported);
    EXPECT_EQ(into[0], std::byte{0});
  });
}

node::WakeWords& wake_of(AnonymousSegment& segment, std::uint32_t slot) {
  return reinterpret_cast<node::SlotMemory*>(segment.slot(slot))->wake;
}

/// Send `packets` packets to the process of slot 0, each while the receiver sleeps or is about to
/// sleep. Exit with an error if the receiver sleeps as `wrong_sleep`.
void send_to_sleeper(const std::shared_ptr<AnonymousSegment>& segment, std::uint32_t packets,
                     node::Sleep wrong_sleep) {
  Node sender(segment, 1);
  Link& link = sender.link_to(0);
  for (std::uint32_t i = 0; i < packets; ++i) {
    while (wake_of(*segment, 0).sleeping.load() == 0) sched_yield();
    if (wake_of(*segment, 0).sleeping.load() == wrong_sleep) std::_Exit(4);
    if (*sender.transport->try_send(link, bytes_of(i), {}) != Attempt::done) std::_Exit(3);
  }
}

TEST(Shm, PacketWakesASleepingReceiver) {
  auto segment = make_segment(2);
  Node receiver(segment, 0);
  receiver.area.set_ready();
  constexpr std::uint32_t kPackets = 2000;
  Child child([&] { send_to_sleeper(segment, kPackets, node::kAtDoorbell); });
  std::uint32_t came = 0;
  CallSink sink([&](ConstSpan) { ++came; });
  auto start = base::now_ns();
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  while (came < kPackets && !deadline.passed()) {
    receiver.transport->sleeper()->sleep(1'000'000'000, [] { return false; }, {});
    ASSERT_TRUE(receiver.transport->poll(sink));
  }
  EXPECT_EQ(came, kPackets);
  std::fprintf(stderr, "%.1f us from packet to packet with a sleep between\n",
               static_cast<double>(base::now_ns() - start) / 1e3 / kPackets);
  child.join();
  EXPECT_GT(wake_of(*segment, 0).sequence.load(), kPackets / 2) << "woken, not timed out";
}

/// Both ends of a pipe.
struct Pipe {
  Pipe() {
    int both[2];
    EXPECT_EQ(::pipe(both), 0);
    end = base::Descriptor(both[0]);
    beginning = base::Descriptor(both[1]);
  }
  base::Descriptor end, beginning;
};

// A receiver that waits for descriptors sleeps at its doorbell, and the sender rings it there.
TEST(Shm, PacketWakesAReceiverThatWaitsForDescriptors) {
  auto segment = make_segment(2);
  Node receiver(segment, 0);
  receiver.area.set_ready();
  ASSERT_TRUE(receiver.transport->sleeper()->may_wait_for_descriptors());
  const Pipe pipe;
  const int descriptor = pipe.end.get();
  constexpr std::uint32_t kPackets = 500;
  Child child([&] { send_to_sleeper(segment, kPackets, node::kOnFutex); });
  std::uint32_t came = 0;
  CallSink sink([&](ConstSpan) { ++came; });
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  const auto start = base::now_ns();
  std::uint32_t cut_short = 0;  // sleeps that ended before their timeout
  while (came < kPackets && !deadline.passed()) {
    const auto begin = base::now_ns();
    receiver.transport->sleeper()->sleep(1'000'000'000, [] { return false; }, {&descriptor, 1});
    cut_short += base::now_ns() - begin < 900'000;
    ASSERT_TRUE(receiver.transport->poll(sink));
  }
  EXPECT_EQ(came, kPackets);
  EXPECT_GT(cut_short, kPackets / 2) << "woken, not timed out";
  std::fprintf(stderr, "%.1f us from packet to packet with a sleep at the doorbell between\n",
               static_cast<double>(base::now_ns() - start) / 1e3 / kPackets);
  child.join();
  EXPECT_EQ(wake_of(*segment, 0).sleeping.load(), 0u) << "the receiver no longer sleeps";
}

}  // namespace
}  // namespace shim::transport
