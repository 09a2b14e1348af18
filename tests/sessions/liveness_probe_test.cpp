// SPDX-License-Identifier: BSD-3-Clause
// Tests LivenessProbe: the values of a missing process at the launcher tell if the process has
// died.
#include "shim/sessions/liveness_probe.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "shim/bootstrap/inmem/inmem.hpp"

namespace shim::sessions {
namespace {

using Verdict = LivenessProbe::Verdict;
using bootstrap::inmem::Fault;
using bootstrap::inmem::LauncherCall;

constexpr std::uint32_t kGone = 1, kIncarnation = 2;

class LivenessProbeTest : public ::testing::Test {
 protected:
  LivenessProbe ask(double silence = 0) { return {*asker_, kGone, kIncarnation, silence}; }
  void publish(const std::string& key, const transport::Bytes& value) {
    ASSERT_TRUE(gone_->publish(key, value));
  }

  /// Poll until the verdict is known, or for longer than the probe needs; return the verdict.
  static Verdict find(LivenessProbe& probe) {
    const auto deadline = base::Deadline::after_seconds(1.5);
    Verdict found = Verdict::unknown;
    while ((found = probe.poll()) == Verdict::unknown && !deadline.passed())
      std::this_thread::yield();
    return found;
  }

  std::shared_ptr<bootstrap::inmem::Launcher> launcher_ = bootstrap::inmem::Launcher::start(
      bootstrap::inmem::World::of(2, 1));
  std::unique_ptr<bootstrap::Bootstrap> asker_ = launcher_->open(0), gone_ = launcher_->open(kGone);
  const transport::Bytes address_ = transport::Bytes(17, std::byte{7});
};

TEST(PublishedAddress, DistinguishesAnAddressFromItsSubstitutes) {
  const transport::Bytes address(17, std::byte{7});
  EXPECT_EQ(decode_address(2, address).kind, PublishedAddress::Kind::address);
  EXPECT_EQ(decode_address(2, address).address, (NetworkAddress{2, address}));
  EXPECT_EQ(decode_address(2, no_address()).kind, PublishedAddress::Kind::no_address);
  const PublishedAddress without = decode_address(2, reason_without_address("no network"));
  EXPECT_EQ(without.kind, PublishedAddress::Kind::reason);
  EXPECT_EQ(without.reason, "no network");
}

TEST_F(LivenessProbeTest, PublishedWithoutEndMeansDead) {
  publish(address_key(kIncarnation), address_);
  LivenessProbe probe = ask();
  EXPECT_EQ(probe.poll(), Verdict::unknown)
      << "the response to the other look-up may be outstanding";
  EXPECT_EQ(find(probe), Verdict::has_ended);
}

TEST_F(LivenessProbeTest, PublishedEndMeansBetweenSessions) {
  publish(address_key(kIncarnation), address_);
  publish(end_key(kIncarnation), presence_value());
  LivenessProbe probe = ask();
  EXPECT_EQ(find(probe), Verdict::between_sessions);
  EXPECT_TRUE(probe.is_between_sessions());
  publish(exit_key(), presence_value());
  EXPECT_EQ(probe.poll(), Verdict::has_ended);
}

TEST_F(LivenessProbeTest, IgnoresTheEndOfAnotherIncarnation) {
  publish(address_key(kIncarnation), address_);
  publish(end_key(kIncarnation - 1), presence_value());
  LivenessProbe probe = ask();
  EXPECT_EQ(find(probe), Verdict::has_ended);
}

TEST_F(LivenessProbeTest, NothingPublishedMeansUnknown) {
  LivenessProbe probe = ask();
  EXPECT_EQ(find(probe), Verdict::unknown);
}

TEST_F(LivenessProbeTest, SilenceOfALauncherThatMustKnowMeansEnded) {
  LivenessProbe probe = ask(0.2);
  EXPECT_EQ(probe.poll(), Verdict::unknown);
  EXPECT_EQ(find(probe), Verdict::has_ended);
}

TEST_F(LivenessProbeTest, NoVerdictOnAnIncarnationWithoutAnAddress) {
  publish(address_key(kIncarnation), no_address());
  LivenessProbe probe = ask();
  EXPECT_EQ(find(probe), Verdict::unknown);
}

TEST_F(LivenessProbeTest, SilentOrRefusingLauncherMeansUnknown) {
  publish(address_key(kIncarnation), address_);
  for (const Fault fault : {Fault::never(), Fault::failing()}) {
    launcher_->set_faults([&](const LauncherCall& operation) {
      return operation.kind == LauncherCall::Type::lookup ? fault : Fault{};
    });
    LivenessProbe probe = ask();
    EXPECT_EQ(find(probe), Verdict::unknown);
    EXPECT_FALSE(probe.newer_address());
  }
}

TEST_F(LivenessProbeTest, FindsALaterIncarnation) {
  publish(address_key(kIncarnation), address_);
  LivenessProbe probe = ask();
  EXPECT_FALSE(probe.newer_address());
  publish(end_key(kIncarnation), presence_value());
  publish(address_key(kIncarnation + 1), address_);
  const auto deadline = base::Deadline::after_seconds(20);
  std::optional<PublishedAddress> newer_address;
  while (!(newer_address = probe.newer_address()) && !deadline.passed()) std::this_thread::yield();
  ASSERT_TRUE(newer_address);
  EXPECT_EQ(newer_address->address.incarnation, kIncarnation + 1);
}

}  // namespace
}  // namespace shim::sessions
