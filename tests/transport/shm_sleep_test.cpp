// SPDX-License-Identifier: BSD-3-Clause
// Tests sleeps in the shared-memory transport, and packets that end them.
#include <gtest/gtest.h>

#include "shim/base/descriptor.hpp"
#include "shim/node/slot.hpp"
#include "shim/transport/shm/shm.hpp"
#include "shim/transport/sleeper.hpp"
#include "tests/transport/processes.hpp"
#include "tests/transport/rig.hpp"
#include "tests/transport/shm_rig.hpp"

namespace shim::transport {
namespace {

using testing::AnonymousSegment;
using testing::bytes_of;
using testing::CallSink;
using testing::Child;
using testing::kTestSeconds;
using testing::make_segment;
using testing::ShmProcess;

node::WakeWords& wake_of(AnonymousSegment& segment, std::uint32_t slot) {
  return reinterpret_cast<node::SlotMemory*>(segment.slot(slot))->wake;
}

/// Send `packets` packets to the process of slot 0, each while the receiver sleeps or is about to
/// sleep. Exit with an error if the receiver sleeps as `wrong_sleep`.
void send_to_sleeper(const std::shared_ptr<AnonymousSegment>& segment, std::uint32_t packets,
                     node::Sleep wrong_sleep) {
  ShmProcess sender(segment, 1);
  Link& link = sender.link_to(0);
  for (std::uint32_t i = 0; i < packets; ++i) {
    while (wake_of(*segment, 0).sleeping.load() == 0) sched_yield();
    if (wake_of(*segment, 0).sleeping.load() == wrong_sleep) std::_Exit(4);
    if (*sender.transport->try_send(link, bytes_of(i), {}) != Attempt::done) std::_Exit(3);
  }
}

TEST(ShmSleep, PacketWakesASleepingReceiver) {
  auto segment = make_segment(2);
  ShmProcess receiver(segment, 0);
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
TEST(ShmSleep, PacketWakesAReceiverThatWaitsForDescriptors) {
  auto segment = make_segment(2);
  ShmProcess receiver(segment, 0);
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

// The owner sleeps for short times while packets are queued, and it alone knows when it gives up a
// queue, for example because the peer has died.
TEST(ShmSleep, RefusedSendDoesNotShortenLaterSleeps) {
  constexpr ShmSettings kSettings{.ring_bytes = 1024};
  constexpr base::Nanoseconds kLongest = 1'000'000;  // of a sleep of this transport
  auto segment = make_segment(2, kSettings);
  ShmProcess a(segment, 0, kSettings), b(segment, 1, kSettings);
  b.area.set_ready();
  Link& link = a.link_to(1);
  while (*a.transport->try_send(link, bytes_of(1), {}) == Attempt::done) {
  }
  segment->mark_dead(1);
  const auto begin = base::now_ns();
  a.transport->sleeper()->sleep(kLongest, [] { return false; }, {});
  EXPECT_GE(base::now_ns() - begin, kLongest / 2);
}

}  // namespace
}  // namespace shim::transport
