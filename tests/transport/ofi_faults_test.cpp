// SPDX-License-Identifier: BSD-3-Clause
// Tests libfabric transports whose provider fails calls, loses packets or loses completions.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>
#include <sched.h>

#include <optional>

#include "shim/base/clock.hpp"
#include "shim/transport/failure_detector.hpp"
#include "shim/transport/loss_detector.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/registered_reads.hpp"
#include "tests/transport/fault_injection.hpp"
#include "tests/transport/large_buffer_network.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport::testing {
namespace {

using base::ErrorClass;

constexpr base::Nanoseconds kProbeInterval = 200'000'000;

/// Two endpoints whose providers fail the call selected by the test.
struct FaultyPair {
  OfiTuning tuning = {.reads = true, .probe_interval = kProbeInterval};
  bool matching = false;
  std::optional<Call> refused;  ///< call that the first provider fails, with `code`
  ssize_t code = -FI_EAGAIN;
  std::optional<Call> refused_there;  ///< call that the second provider fails
  std::unique_ptr<Transport> here = make(tuning, matching), there = make(tuning, matching);
  int sends = 0;  ///< sends of the first endpoint, without injected ones
  std::unique_ptr<FaultInjector> injector = std::make_unique<FaultInjector>(
      *here, [this](Call call) {
        sends += call == Call::send;
        return call == refused ? code : 0;
      });
  std::unique_ptr<FaultInjector> injector_there = std::make_unique<FaultInjector>(
      *there, [this](Call call) { return call == refused_there ? code : 0; });
  Link* link = *here->open(there->address());
  Link* back = *there->open(here->address());
  int received = 0;
  CallSink sink{[this](ConstSpan) { ++received; }};

  ~FaultyPair() {
    here.reset();
    there.reset();
  }
  static std::unique_ptr<Transport> make(const OfiTuning& tuning = {.reads = true},
                                         bool matching = false) {
    testing::raise_receive_memory_for("sockets");
    auto made = make_ofi(
        {.provider = "sockets", .interface = "lo", .tuning = tuning, .matching = matching});
    EXPECT_TRUE(made) << made.error().text();
    return *std::move(made);
  }
  Attempt send(std::size_t bytes = 100) {
    auto attempt = here->try_send(*link, std::vector<std::byte>(bytes), {});
    EXPECT_TRUE(attempt) << attempt.error().text();
    return attempt ? *attempt : Attempt::unsupported;
  }
  void poll() {
    EXPECT_TRUE(here->poll(sink));
    EXPECT_TRUE(there->poll(sink));
  }
  void poll_until(const std::function<bool()>& condition) {
    const auto deadline = base::Deadline::after_seconds(30);
    while (!::testing::Test::HasFailure() && !condition()) {
      poll();
      sched_yield();
      ASSERT_FALSE(deadline.passed());
    }
  }
  /// Send a packet that the provider reports as sent but drops; requires that `code` is kLost.
  void lose_one() {
    refused = Call::inject;
    ASSERT_EQ(send(10), Attempt::done);
    refused.reset();
  }
  /// Probe for losses, as a thread that waits for the second endpoint, until the peer is gone.
  void wait_until_gone() {
    poll_until([&] {
      here->loss_detector()->probe_losses();
      return here->failure_detector()->is_gone(*link);
    });
  }
  /// Send one packet to connect the two endpoints.
  void connect() {
    poll_until([&] { return send() == Attempt::done; });
    poll_until([&] { return received > 0; });
    received = 0;
  }
};

class OfiRefusals : public ::testing::TestWithParam<int> {};

TEST_P(OfiRefusals, SendIsRetried) {
  FaultyPair pair{.code = -GetParam()};
  pair.connect();
  for (auto [call, bytes] :
       {std::pair{Call::send, std::size_t{5000}}, std::pair{Call::inject, std::size_t{10}}}) {
    pair.refused = call;
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(pair.send(bytes), Attempt::again);
      pair.poll();
    }
    pair.refused.reset();
    pair.poll_until([&, bytes = bytes] { return pair.send(bytes) == Attempt::done; });
    pair.poll_until([&] { return pair.received > 0; });
    EXPECT_EQ(std::exchange(pair.received, 0), 1);
  }
  pair.poll_until([&] { return pair.here->is_flushed(); });
}

TEST_P(OfiRefusals, AddressInsertionIsRetried) {
  FaultyPair pair{.refused = Call::insert, .code = -GetParam()};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(pair.send(), Attempt::again);
  pair.refused.reset();
  pair.connect();
  EXPECT_EQ(pair.here->counts().addresses_inserted, 1u);
}

TEST_P(OfiRefusals, ReceivesAreRetried) {
  FaultyPair pair{.code = -GetParam()};
  pair.connect();
  pair.refused_there = Call::receive;
  int sent = 0;
  for (int i = 0; i < 2000; ++i) {  // more than the number of posted receives
    if (sent < 300 && pair.send() == Attempt::done) ++sent;
    pair.poll();
  }
  EXPECT_LT(pair.received, 300);
  pair.refused_there.reset();
  pair.poll_until([&] {
    if (sent < 300 && pair.send() == Attempt::done) ++sent;
    return pair.received == 300;
  });
}

TEST_P(OfiRefusals, ReadsAreRetried) {
  FaultyPair pair{.code = -GetParam()};
  pair.connect();
  const std::vector<std::byte> theirs = body_of(1, 1'000'000);
  std::vector<std::byte> ours(theirs.size());
  auto offer = pair.there->registered_reads()->offer(*pair.back, theirs);
  ASSERT_TRUE(offer);
  pair.refused = Call::read;
  auto read = pair.here->registered_reads()->begin_read(*pair.link, offer->memory(), ours);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(*read->progress(), 0u);
  pair.refused.reset();
  pair.poll_until([&] { return *read->progress() == ours.size(); });
  EXPECT_EQ(ours, theirs);
}

INSTANTIATE_TEST_SUITE_P(Codes, OfiRefusals, ::testing::Values(FI_EAGAIN, FI_ENOMEM, FI_ENOSPC),
                         [](const auto& test) {
                           return test.param == FI_EAGAIN   ? "again"
                                  : test.param == FI_ENOMEM ? "no_memory"
                                                            : "no_space";
                         });

TEST(OfiFaults, UnregistrableMemoryIsNotOffered) {
  FaultyPair pair;
  const std::vector<std::byte> memory(100);
  pair.refused = Call::register_memory;
  EXPECT_FALSE(pair.here->registered_reads()->offer(*pair.link, memory));
  pair.refused.reset();
  EXPECT_TRUE(pair.here->registered_reads()->offer(*pair.link, memory));
}

TEST(OfiFaults, FailedReadIsReportedAndMessagesContinue) {
  FaultyPair pair{.code = -FI_EINVAL};
  pair.connect();
  std::vector<std::byte> memory(100), ours(100);
  auto offer = pair.there->registered_reads()->offer(*pair.back, memory);
  pair.refused = Call::read;
  auto read = pair.here->registered_reads()->begin_read(*pair.link, offer->memory(), ours);
  auto progress = read->progress();
  ASSERT_FALSE(progress);
  EXPECT_EQ(progress.error().error_class(), ErrorClass::other);
  pair.refused.reset();
  pair.connect();
}

TEST(OfiFaults, WithdrawnMemoryIsNotRead) {
  FaultyPair pair;
  pair.connect();
  std::vector<std::byte> memory(100), ours(100);
  const RemoteMemory gone = pair.there->registered_reads()->offer(*pair.back, memory)->memory();
  auto read = pair.here->registered_reads()->begin_read(*pair.link, gone, ours);
  pair.poll_until([&] { return !read->progress(); });
  pair.connect();
}

TEST(OfiFaults, HardErrorFailsOnlyItsLink) {
  FaultyPair pair{.code = -FI_EIO};
  pair.connect();
  pair.refused = Call::send;
  auto attempt = pair.here->try_send(*pair.link, std::vector<std::byte>(5000), {});
  ASSERT_FALSE(attempt);
  EXPECT_EQ(attempt.error().error_class(), ErrorClass::proc_aborted);
  pair.refused.reset();
  auto third = FaultyPair::make();
  Link& other = **pair.here->open(third->address());
  int came = 0;
  CallSink sink([&](ConstSpan) { ++came; });
  bool sent = false;
  pair.poll_until([&] {
    if (!sent) sent = *pair.here->try_send(other, bytes_of(1), {}) == Attempt::done;
    EXPECT_TRUE(third->poll(sink));
    return came == 1;
  });
}

/// Check that both ends report a lost packet.
void expect_loss(FaultyPair& pair) {
  EXPECT_TRUE(pair.here->failure_detector()->is_gone(*pair.link) &&
              pair.there->failure_detector()->is_gone(*pair.back));
  EXPECT_TRUE(pair.here->loss_detector()->has_lost_packets(*pair.link) &&
              pair.there->loss_detector()->has_lost_packets(*pair.back));
  EXPECT_TRUE(pair.here->loss_detector()->any_lost_packets() &&
              pair.there->loss_detector()->any_lost_packets());
  EXPECT_TRUE(pair.here->failure_detector()
                  ->gone_reason(*pair.link)
                  .starts_with("packets to that process were lost by libfabric provider sockets"));
  EXPECT_TRUE(
      pair.there->failure_detector()
          ->gone_reason(*pair.back)
          .starts_with("packets from that process were lost by libfabric provider sockets"));
}

/// The sender and the receiver detect the loss, whichever of them waits for a reply.
TEST(OfiFaults, WaitingSenderDetectsLossOfTheLastPacket) {
  FaultyPair pair{.code = FaultInjector::kLost};
  pair.connect();
  pair.lose_one();
  const auto begin = base::now_ns();
  pair.wait_until_gone();
  EXPECT_GE(base::now_ns() - begin, kProbeInterval) << "the packet might still be in flight";
  expect_loss(pair);
  auto attempt = pair.here->try_send(*pair.link, bytes_of(1), {});
  ASSERT_FALSE(attempt);
  EXPECT_EQ(attempt.error().error_class(), ErrorClass::proc_aborted);
}

/// A later packet would be taken for the lost one. Both ends detect the loss without probing.
TEST(OfiFaults, DoesNotDeliverAPacketAfterALostOne) {
  FaultyPair pair{.code = FaultInjector::kLost};
  pair.connect();
  pair.lose_one();
  EXPECT_EQ(pair.send(10), Attempt::done);
  EXPECT_EQ(pair.send(10), Attempt::done);
  pair.poll_until([&] { return pair.here->failure_detector()->is_gone(*pair.link); });
  EXPECT_EQ(pair.received, 0);
  EXPECT_EQ(pair.there->counts().packets_refused, 2u);
  expect_loss(pair);
}

/// Without its address frame a peer cannot be replied to, although its packets are authenticated.
TEST(OfiFaults, DetectsLossOfTheAddressFrame) {
  FaultyPair pair{.code = FaultInjector::kLost};
  pair.refused = Call::send;
  pair.poll_until([&] { return pair.send(10) == Attempt::done; });
  pair.refused.reset();
  pair.poll_until([&] { return pair.there->failure_detector()->is_gone(*pair.back); });
  EXPECT_EQ(pair.received, 0);
  pair.poll_until([&] { return pair.here->failure_detector()->is_gone(*pair.link); });
  expect_loss(pair);
}

/// Otherwise the peer might wait for packets forever: it probes only for packets that it has sent.
TEST(OfiFaults, SendsResetWhenItCanNoLongerSend) {
  FaultyPair pair{.code = -FI_EIO};
  pair.connect();
  pair.refused = Call::send;
  EXPECT_FALSE(pair.here->try_send(*pair.link, std::vector<std::byte>(5000), {}));
  pair.refused.reset();
  EXPECT_TRUE(pair.here->failure_detector()->is_gone(*pair.link));
  EXPECT_FALSE(pair.here->loss_detector()->has_lost_packets(*pair.link))
      << "the peer may be dead instead";
  pair.poll_until([&] { return pair.there->failure_detector()->is_gone(*pair.back); });
  pair.poll_until([&] {
    return pair.here->loss_detector()->has_lost_packets(*pair.link);
  });  // the peer has responded, so it is alive
  EXPECT_TRUE(pair.there->loss_detector()->has_lost_packets(*pair.back));
  EXPECT_TRUE(pair.there->failure_detector()
                  ->gone_reason(*pair.back)
                  .starts_with("packets from that process were lost"))
      << pair.there->failure_detector()->gone_reason(*pair.back);
}

/// Packets after a gap, and ack requests, wait for the missing packet.
TEST(OfiFaults, PersistentGapIsALossWithoutProviderOrder) {
  FaultyPair pair{.tuning = {.orders_itself = true, .probe_interval = 10'000'000},
                  .code = FaultInjector::kLost};
  pair.connect();
  pair.lose_one();
  EXPECT_EQ(pair.send(10), Attempt::done);
  const auto begin = base::now_ns();
  pair.poll_until([&] {
    pair.there->loss_detector()->probe_losses();
    return pair.there->loss_detector()->has_lost_packets(
        *pair.back);  // the peer reports it, so the peer is alive
  });
  EXPECT_GE(base::now_ns() - begin, 30 * pair.tuning.probe_interval)
      << "the provider might still resend the packet";
  EXPECT_EQ(pair.received, 0);
  expect_loss(pair);
}

/// Other messages may overtake a matched message, so sequence numbers cannot show its loss.
TEST(OfiFaults, DetectsLossOfAProviderMatchedMessage) {
  FaultyPair pair{.matching = true, .code = FaultInjector::kLost};
  pair.connect();
  pair.refused = Call::inject_matched;
  auto attempt = pair.here->matcher()->try_send(*pair.link, {.context = 1, .source = 0, .tag = 3},
                                                bytes_of(1), {});
  ASSERT_TRUE(attempt && *attempt == Attempt::done);
  pair.refused.reset();
  pair.wait_until_gone();
  expect_loss(pair);
}

/// An ack request of the closing end may arrive after its fin.
TEST(OfiFaults, ClosingWithoutAnAckLosesNothing) {
  FaultyPair pair;
  pair.connect();
  ASSERT_EQ(pair.send(10), Attempt::done);
  EXPECT_FALSE(pair.here->is_flushed());
  pair.here.reset();  // its ack request gets no response
  const auto deadline = base::Deadline::after_seconds(30);
  while (pair.received == 0) {
    ASSERT_TRUE(pair.there->poll(pair.sink));
    ASSERT_FALSE(deadline.passed());
  }
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pair.there->poll(pair.sink));
  EXPECT_FALSE(pair.there->try_send(*pair.back, bytes_of(1), {}))
      << "the peer has received the fin";
  EXPECT_FALSE(pair.there->loss_detector()->has_lost_packets(*pair.back) ||
               pair.there->failure_detector()->is_gone(*pair.back));
}

/// A peer that can no longer send cannot send acks either; it sends a reset instead.
TEST(OfiFaults, WaitingSenderDetectsAPeerThatNeverAcks) {
  FaultyPair pair{.code = -FI_EIO};
  pair.connect();
  pair.refused_there = Call::send;
  EXPECT_FALSE(pair.there->try_send(*pair.back, std::vector<std::byte>(5000), {}));
  pair.refused_there.reset();
  ASSERT_EQ(pair.send(10), Attempt::done);
  pair.wait_until_gone();
}

/// A waiting sender requests an ack once, and again only after it has sent more packets.
TEST(OfiFaults, WaitingSenderReportsNoLossIfNothingWasLost) {
  FaultyPair pair;
  pair.connect();
  const int before = pair.sends;  // packets are injected and do not count
  const auto wait = [&](base::Nanoseconds long_enough) {
    for (const auto begin = base::now_ns(); base::now_ns() - begin < long_enough; sched_yield()) {
      pair.here->loss_detector()->probe_losses();
      pair.poll();
    }
  };
  wait(3 * kProbeInterval);
  EXPECT_EQ(pair.sends, before + 1);
  ASSERT_EQ(pair.send(10), Attempt::done);
  wait(3 * kProbeInterval);
  EXPECT_EQ(pair.sends, before + 2);
  EXPECT_FALSE(pair.here->failure_detector()->is_gone(*pair.link) ||
               pair.there->failure_detector()->is_gone(*pair.back));
}

TEST(OfiFaults, LostCompletionFailsTheEndpointAndEndsAllWaits) {
  FaultyPair pair{.code = -FI_EOVERRUN};
  pair.connect();
  ASSERT_EQ(pair.send(), Attempt::done);
  pair.refused = Call::completions;
  for (int i = 0; i < 2; ++i) {
    auto count = pair.here->poll(pair.sink);
    ASSERT_FALSE(count);
    EXPECT_EQ(count.error().foreign_code(), FI_EOVERRUN);
    EXPECT_FALSE(pair.here->try_send(*pair.link, bytes_of(1), {}));
  }
  EXPECT_TRUE(pair.here->is_flushed());
  const auto begin = base::now_ns();
  pair.here.reset();
  EXPECT_LT(base::now_ns() - begin, 1'000'000'000);
}

TEST(OfiFaults, ReadInFlightAtEndpointFailureWritesNothingAfterwards) {
  FaultyPair pair{.code = -FI_EOVERRUN};
  pair.connect();
  const std::vector<std::byte> theirs(4'000'000, std::byte{1});
  std::vector<std::byte> ours(theirs.size());
  auto offer = pair.there->registered_reads()->offer(*pair.back, theirs);
  auto read = pair.here->registered_reads()->begin_read(*pair.link, offer->memory(), ours);
  ASSERT_TRUE(read->progress());
  pair.refused = Call::completions;
  EXPECT_FALSE(pair.here->poll(pair.sink));
  read.reset();
  std::ranges::fill(ours, std::byte{2});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pair.there->poll(pair.sink));
  EXPECT_TRUE(std::ranges::all_of(ours, [](std::byte byte) { return byte == std::byte{2}; }));
}

/// A provider refuses to close a domain in which memory is registered, and its threads and memory
/// would then stay.
TEST(OfiFaults, DomainIsClosedAfterTheRegistrationsIfAReadDoesNotComplete) {
  FaultyPair pair{.code = -FI_EOVERRUN};
  pair.connect();
  const std::vector<std::byte> theirs(4'000'000), own(100);
  std::vector<std::byte> ours(theirs.size());
  auto offer = pair.there->registered_reads()->offer(*pair.back, theirs),
       own_offer = pair.here->registered_reads()->offer(*pair.link, own);
  auto read = pair.here->registered_reads()->begin_read(*pair.link, offer->memory(), ours);
  ASSERT_TRUE(read->progress());
  pair.refused = Call::completions;
  EXPECT_FALSE(pair.here->poll(pair.sink));
  read.reset();
  EXPECT_FALSE(pair.here->try_send(*pair.link, bytes_of(1), {}));
  EXPECT_FALSE(pair.here->registered_reads()->offer(*pair.link, own));
  own_offer.reset();
  pair.here.reset();
  EXPECT_EQ(pair.injector->domain_closed(), 0);
}

/// A packet may end a read: the engine ends the operations of a collective that failed elsewhere.
/// If the read never completes, the endpoint fails in the midst of a poll.
TEST(OfiFaults, PollEndsWithTheEndpointThatItsPacketFails) {
  for (int last = 1; last <= 8; ++last) {  // at one of them receives are due to be posted again
    FaultyPair pair{.refused = Call::read, .code = FaultInjector::kLost};
    pair.connect();
    const std::vector<std::byte> theirs(100);
    std::vector<std::byte> ours(theirs.size());
    auto offer = pair.there->registered_reads()->offer(*pair.back, theirs);
    auto read = pair.here->registered_reads()->begin_read(*pair.link, offer->memory(), ours);
    ASSERT_TRUE(read->progress());
    int packets = 0;
    CallSink sink([&](ConstSpan) {
      if (++packets != last) return;
      pair.refused = Call::completions;  // so that the read need not wait for its timeout
      pair.code = -FI_EOVERRUN;
      read.reset();
    });
    const auto deadline = base::Deadline::after_seconds(30);
    while (read != nullptr) {
      ASSERT_FALSE(deadline.passed());
      ASSERT_TRUE(pair.there->try_send(*pair.back, bytes_of(1), {}));
      ASSERT_TRUE(pair.there->poll(pair.sink));
      const auto polled = pair.here->poll(sink);
      EXPECT_EQ(read == nullptr, !polled);
    }
    EXPECT_EQ(packets, last);
    EXPECT_FALSE(pair.here->poll(sink));
    pair.here.reset();
    EXPECT_EQ(pair.injector->domain_closed(), 0);
  }
}

/// If only one of two ends used provider matching, their messages would never match.
TEST(OfiFaults, RefusesAPeerWithDifferentMatchBits) {
  auto matches = make_ofi({.provider = "sockets", .interface = "lo", .matching = true});
  ASSERT_TRUE(matches && (*matches)->matcher());
  auto other = FaultyPair::make();
  EXPECT_EQ(other->matcher(), nullptr);
  auto link = other->open((*matches)->address());
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().error_class(), ErrorClass::arg);
  EXPECT_FALSE((*matches)->open(other->address()));
}

}  // namespace
}  // namespace shim::transport::testing
