// SPDX-License-Identifier: BSD-3-Clause
// Providers of libfabric that refuse, and a completion queue that has lost something.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>
#include <sched.h>

#include <optional>

#include "shim/base/clock.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "tests/transport/rig.hpp"
#include "tests/transport/roomy_network.hpp"
#include "tests/transport/sabotage.hpp"

namespace shim::transport::testing {
namespace {

using base::ErrorClass;

constexpr base::Nanoseconds kPatience = 200'000'000;

/// Two endpoints; what their providers are to refuse is said call by call.
struct FaultyPair {
  OfiTuning tuning = {.reads = true, .patience = kPatience};
  bool matching = false;
  std::optional<Call> refused;  ///< by the first one's, or …
  ssize_t code = -FI_EAGAIN;
  std::optional<Call> refused_there;  ///< … by the second one's provider
  std::unique_ptr<Transport> here = make(tuning, matching), there = make(tuning, matching);
  int sends = 0;  ///< of the first one's, without those that are injected
  std::unique_ptr<Sabotage> sabotage = std::make_unique<Sabotage>(*here, [this](Call call) {
    sends += call == Call::send;
    return call == refused ? code : 0;
  });
  std::unique_ptr<Sabotage> sabotage_there =
      std::make_unique<Sabotage>(*there, [this](Call call) { return call == refused_there ? code : 0; });
  Link* link = *here->open(there->address());
  Link* back = *there->open(here->address());
  int heard = 0;
  CallSink sink{[this](ConstSpan) { ++heard; }};

  ~FaultyPair() {
    here.reset();
    there.reset();
  }
  static std::unique_ptr<Transport> make(const OfiTuning& tuning = {.reads = true}, bool matching = false) {
    testing::make_room_for("sockets");
    auto made = make_ofi({.provider = "sockets", .interface = "lo", .tuning = tuning, .matching = matching});
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
  /// A packet that the provider says has been sent; where `code` is kLost.
  void lose_one() {
    refused = Call::inject;
    ASSERT_EQ(send(10), Attempt::done);
    refused.reset();
  }
  /// As one who waits for the second one.
  void wait_until_gone() {
    poll_until([&] {
      here->look_for_losses();
      return here->is_gone(*link);
    });
  }
  /// One packet there, so that the two are connected.
  void meet() {
    poll_until([&] { return send() == Attempt::done; });
    poll_until([&] { return heard > 0; });
    heard = 0;
  }
};

class OfiRefusals : public ::testing::TestWithParam<int> {};

TEST_P(OfiRefusals, OfASendAreNoFailureHoweverLong) {
  FaultyPair pair{.code = -GetParam()};
  pair.meet();
  for (auto [call, bytes] : {std::pair{Call::send, std::size_t{5000}}, std::pair{Call::inject, std::size_t{10}}}) {
    pair.refused = call;
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(pair.send(bytes), Attempt::again);
      pair.poll();
    }
    pair.refused.reset();
    pair.poll_until([&] { return pair.send(bytes) == Attempt::done; });
    pair.poll_until([&] { return pair.heard > 0; });
    EXPECT_EQ(std::exchange(pair.heard, 0), 1);
  }
  pair.poll_until([&] { return pair.here->is_flushed(); });
}

TEST_P(OfiRefusals, OfAnInsertionAreNoFailure) {
  FaultyPair pair{.refused = Call::insert, .code = -GetParam()};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(pair.send(), Attempt::again);
  pair.refused.reset();
  pair.meet();
  EXPECT_EQ(pair.here->counts().addresses_inserted, 1u);
}

TEST_P(OfiRefusals, OfReceivesLeaveThemForLater) {
  FaultyPair pair{.code = -GetParam()};
  pair.meet();
  pair.refused_there = Call::receive;
  int sent = 0;
  for (int i = 0; i < 2000; ++i) {  // more than there are receives
    if (sent < 300 && pair.send() == Attempt::done) ++sent;
    pair.poll();
  }
  EXPECT_LT(pair.heard, 300);
  pair.refused_there.reset();
  pair.poll_until([&] {
    if (sent < 300 && pair.send() == Attempt::done) ++sent;
    return pair.heard == 300;
  });
}

TEST_P(OfiRefusals, OfReadsAreNoFailure) {
  FaultyPair pair{.code = -GetParam()};
  pair.meet();
  const std::vector<std::byte> theirs = body_of(1, 1'000'000);
  std::vector<std::byte> ours(theirs.size());
  auto offer = pair.there->offer(*pair.back, theirs);
  ASSERT_TRUE(offer);
  pair.refused = Call::read;
  auto read = pair.here->begin_read(*pair.link, offer->memory(), ours);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(*read->progress(), 0u);
  pair.refused.reset();
  pair.poll_until([&] { return *read->progress() == ours.size(); });
  EXPECT_EQ(ours, theirs);
}

INSTANTIATE_TEST_SUITE_P(Codes, OfiRefusals, ::testing::Values(FI_EAGAIN, FI_ENOMEM, FI_ENOSPC), [](const auto& test) {
  return test.param == FI_EAGAIN ? "again" : test.param == FI_ENOMEM ? "no_memory" : "no_space";
});

TEST(OfiFaults, MemoryThatCannotBeRegisteredIsNotOffered) {
  FaultyPair pair;
  const std::vector<std::byte> memory(100);
  pair.refused = Call::register_memory;
  EXPECT_FALSE(pair.here->offer(*pair.link, memory));
  pair.refused.reset();
  EXPECT_TRUE(pair.here->offer(*pair.link, memory));
}

TEST(OfiFaults, AReadThatFailsSaysSoAndMessagesGoOn) {
  FaultyPair pair{.code = -FI_EINVAL};
  pair.meet();
  std::vector<std::byte> memory(100), ours(100);
  auto offer = pair.there->offer(*pair.back, memory);
  pair.refused = Call::read;
  auto read = pair.here->begin_read(*pair.link, offer->memory(), ours);
  auto progress = read->progress();
  ASSERT_FALSE(progress);
  EXPECT_EQ(progress.error().error_class(), ErrorClass::other);
  pair.refused.reset();
  pair.meet();
}

TEST(OfiFaults, MemoryThatIsNoLongerOfferedIsNotRead) {
  FaultyPair pair;
  pair.meet();
  std::vector<std::byte> memory(100), ours(100);
  const RemoteMemory gone = pair.there->offer(*pair.back, memory)->memory();
  auto read = pair.here->begin_read(*pair.link, gone, ours);
  pair.poll_until([&] { return !read->progress(); });
  pair.meet();
}

TEST(OfiFaults, AHardErrorIsItsLinksAlone) {
  FaultyPair pair{.code = -FI_EIO};
  pair.meet();
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

/// Both ends say that a packet was lost.
void expect_loss(FaultyPair& pair) {
  EXPECT_TRUE(pair.here->is_gone(*pair.link) && pair.there->is_gone(*pair.back));
  EXPECT_TRUE(pair.here->has_lost(*pair.link) && pair.there->has_lost(*pair.back));
  EXPECT_TRUE(pair.here->has_losses() && pair.there->has_losses());
  EXPECT_TRUE(pair.here->why_gone(*pair.link).starts_with("packets to that process were lost over libfabric's sockets"));
  EXPECT_TRUE(pair.there->why_gone(*pair.back).starts_with("packets from that process were lost over libfabric's sockets"));
}

/// Both who sent it and who should have got it, whichever of them waits for what comes of it.
TEST(OfiFaults, WhoWaitsFindsOutThatTheLastPacketWasLost) {
  FaultyPair pair{.code = Sabotage::kLost};
  pair.meet();
  pair.lose_one();
  const auto begin = base::now_ns();
  pair.wait_until_gone();
  EXPECT_GE(base::now_ns() - begin, kPatience) << "something may be under way";
  expect_loss(pair);
  auto attempt = pair.here->try_send(*pair.link, bytes_of(1), {});
  ASSERT_FALSE(attempt);
  EXPECT_EQ(attempt.error().error_class(), ErrorClass::proc_aborted);
}

/// It would be taken for the lost one. Nobody need wait to find that out.
TEST(OfiFaults, APacketBehindALostOneIsNotHandedOn) {
  FaultyPair pair{.code = Sabotage::kLost};
  pair.meet();
  pair.lose_one();
  EXPECT_EQ(pair.send(10), Attempt::done);
  EXPECT_EQ(pair.send(10), Attempt::done);
  pair.poll_until([&] { return pair.here->is_gone(*pair.link); });
  EXPECT_EQ(pair.heard, 0);
  EXPECT_EQ(pair.there->counts().packets_refused, 2u);
  expect_loss(pair);
}

/// Nobody could answer one whose address has been lost, but what comes from it is no stranger's.
TEST(OfiFaults, ALostIntroductionIsFoundOut) {
  FaultyPair pair{.code = Sabotage::kLost};
  pair.refused = Call::send;
  pair.poll_until([&] { return pair.send(10) == Attempt::done; });
  pair.refused.reset();
  pair.poll_until([&] { return pair.there->is_gone(*pair.back); });
  EXPECT_EQ(pair.heard, 0);
  pair.poll_until([&] { return pair.here->is_gone(*pair.link); });
  expect_loss(pair);
}

/// It may wait for what does not come, and ask nothing because it has sent nothing.
TEST(OfiFaults, WhoCannotSendAnyMoreSaysSo) {
  FaultyPair pair{.code = -FI_EIO};
  pair.meet();
  pair.refused = Call::send;
  EXPECT_FALSE(pair.here->try_send(*pair.link, std::vector<std::byte>(5000), {}));
  pair.refused.reset();
  EXPECT_TRUE(pair.here->is_gone(*pair.link));
  EXPECT_FALSE(pair.here->has_lost(*pair.link)) << "the other may be dead";
  pair.poll_until([&] { return pair.there->is_gone(*pair.back); });
  pair.poll_until([&] { return pair.here->has_lost(*pair.link); });  // it has heard of it, so it lives
  EXPECT_TRUE(pair.there->has_lost(*pair.back));
  EXPECT_TRUE(pair.there->why_gone(*pair.back).starts_with("packets from that process were lost")) << pair.there->why_gone(*pair.back);
}

/// What is behind the gap waits for it; so does the question whether all has come.
TEST(OfiFaults, AGapThatStaysIsALossWhereTheProviderKeepsNoOrder) {
  FaultyPair pair{.tuning = {.orders_itself = true, .patience = 10'000'000}, .code = Sabotage::kLost};
  pair.meet();
  pair.lose_one();
  EXPECT_EQ(pair.send(10), Attempt::done);
  const auto begin = base::now_ns();
  pair.poll_until([&] {
    pair.there->look_for_losses();
    return pair.there->has_lost(*pair.back);  // which the other says, so that it is no death
  });
  EXPECT_GE(base::now_ns() - begin, 30 * pair.tuning.patience) << "it may be sent again";
  EXPECT_EQ(pair.heard, 0);
  expect_loss(pair);
}

/// Other messages may overtake it, so that no number tells.
TEST(OfiFaults, AMessageForTheProviderToMatchIsMissed) {
  FaultyPair pair{.matching = true, .code = Sabotage::kLost};
  pair.meet();
  pair.refused = Call::inject_matched;
  auto attempt = pair.here->matcher()->try_send(*pair.link, {.context = 1, .source = 0, .tag = 3}, bytes_of(1), {});
  ASSERT_TRUE(attempt && *attempt == Attempt::done);
  pair.refused.reset();
  pair.wait_until_gone();
  expect_loss(pair);
}

/// What it asked last may come behind its goodbye.
TEST(OfiFaults, WhoLeavesWithoutAReceiptHasLostNothing) {
  FaultyPair pair;
  pair.meet();
  ASSERT_EQ(pair.send(10), Attempt::done);
  EXPECT_FALSE(pair.here->is_flushed());
  pair.here.reset();  // which nobody answers
  const auto deadline = base::Deadline::after_seconds(30);
  while (pair.heard == 0) {
    ASSERT_TRUE(pair.there->poll(pair.sink));
    ASSERT_FALSE(deadline.passed());
  }
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pair.there->poll(pair.sink));
  EXPECT_FALSE(pair.there->try_send(*pair.back, bytes_of(1), {})) << "it has heard the goodbye";
  EXPECT_FALSE(pair.there->has_lost(*pair.back) || pair.there->is_gone(*pair.back));
}

/// Nor does one answer to whom nothing goes any more: it says just that.
TEST(OfiFaults, WhoWaitsFindsOutThatNothingComesBack) {
  FaultyPair pair{.code = -FI_EIO};
  pair.meet();
  pair.refused_there = Call::send;
  EXPECT_FALSE(pair.there->try_send(*pair.back, std::vector<std::byte>(5000), {}));
  pair.refused_there.reset();
  ASSERT_EQ(pair.send(10), Attempt::done);
  pair.wait_until_gone();
}

/// Who waits asks, and all has come; asked later again, since more has been sent. Nobody asks about what is known.
TEST(OfiFaults, WhoWaitsFindsNothingWhereNothingWasLost) {
  FaultyPair pair;
  pair.meet();
  const int before = pair.sends;  // packets are injected
  const auto wait = [&](base::Nanoseconds long_enough) {
    for (const auto begin = base::now_ns(); base::now_ns() - begin < long_enough; sched_yield()) {
      pair.here->look_for_losses();
      pair.poll();
    }
  };
  wait(3 * kPatience);
  EXPECT_EQ(pair.sends, before + 1);
  ASSERT_EQ(pair.send(10), Attempt::done);
  wait(3 * kPatience);
  EXPECT_EQ(pair.sends, before + 2);
  EXPECT_FALSE(pair.here->is_gone(*pair.link) || pair.there->is_gone(*pair.back));
}

TEST(OfiFaults, ALostCompletionEndsTheEndpointButNoProcessWaits) {
  FaultyPair pair{.code = -FI_EOVERRUN};
  pair.meet();
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

TEST(OfiFaults, AReadUnderWayWhenTheEndpointEndsWritesNothingAfterwards) {
  FaultyPair pair{.code = -FI_EOVERRUN};
  pair.meet();
  const std::vector<std::byte> theirs(4'000'000, std::byte{1});
  std::vector<std::byte> ours(theirs.size());
  auto offer = pair.there->offer(*pair.back, theirs);
  auto read = pair.here->begin_read(*pair.link, offer->memory(), ours);
  ASSERT_TRUE(read->progress());
  pair.refused = Call::completions;
  EXPECT_FALSE(pair.here->poll(pair.sink));
  read.reset();
  std::ranges::fill(ours, std::byte{2});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pair.there->poll(pair.sink));
  EXPECT_TRUE(std::ranges::all_of(ours, [](std::byte byte) { return byte == std::byte{2}; }));
}

/// Of two ends of which one leaves matching to the provider, messages would pass each other by.
TEST(OfiFaults, EndsThatDoNotAgreeWhoMatchesDoNotMeet) {
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
