// SPDX-License-Identifier: BSD-3-Clause
// A process is not found any more: what the launcher knows of it says whether it has died.
#include "shim/sessions/inquiry.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "shim/bootstrap/inmem/inmem.hpp"

namespace shim::sessions {
namespace {

using Finding = Inquiry::Finding;
using bootstrap::inmem::Fault;
using bootstrap::inmem::Operation;

constexpr std::uint32_t kGone = 1, kLife = 2;

class InquiryTest : public ::testing::Test {
 protected:
  Inquiry ask(double silence = 0) { return {*asker_, kGone, kLife, silence}; }
  void publish(const std::string& key, const transport::Bytes& value) { ASSERT_TRUE(gone_->publish(key, value)); }

  /// What is found once it is something, or after longer than that takes.
  static Finding find(Inquiry& inquiry) {
    const auto deadline = base::Deadline::after_seconds(1.5);
    Finding found = Finding::none_yet;
    while ((found = inquiry.poll()) == Finding::none_yet && !deadline.passed()) std::this_thread::yield();
    return found;
  }

  std::shared_ptr<bootstrap::inmem::Launcher> launcher_ = bootstrap::inmem::Launcher::start(bootstrap::inmem::World::of(2, 1));
  std::unique_ptr<bootstrap::Bootstrap> asker_ = launcher_->open(0), gone_ = launcher_->open(kGone);
  const transport::Bytes address_ = transport::Bytes(17, std::byte{7});
};

TEST_F(InquiryTest, WhoHasPublishedAndNotSaidItsEndHasDied) {
  publish(address_key(kLife), address_);
  Inquiry inquiry = ask();
  EXPECT_EQ(inquiry.poll(), Finding::none_yet) << "the answer to the other question may be on its way";
  EXPECT_EQ(find(inquiry), Finding::has_ended);
}

TEST_F(InquiryTest, WhoHasSaidItsEndMayComeBack) {
  publish(address_key(kLife), address_);
  publish(end_key(kLife), mark());
  Inquiry inquiry = ask();
  EXPECT_EQ(find(inquiry), Finding::between_sessions);
  EXPECT_TRUE(inquiry.is_between_sessions());
  publish(exit_key(), mark());
  EXPECT_EQ(inquiry.poll(), Finding::has_ended);
}

TEST_F(InquiryTest, OfAnotherLifesEndNothingIsTaken) {
  publish(address_key(kLife), address_);
  publish(end_key(kLife - 1), mark());
  Inquiry inquiry = ask();
  EXPECT_EQ(find(inquiry), Finding::has_ended);
}

TEST_F(InquiryTest, OfWhomNothingIsPublishedNothingIsSaid) {
  Inquiry inquiry = ask();
  EXPECT_EQ(find(inquiry), Finding::none_yet);
}

TEST_F(InquiryTest, OfWhomTheLauncherMustKnowItsSilenceSaysThatItHasEnded) {
  Inquiry inquiry = ask(0.2);
  EXPECT_EQ(inquiry.poll(), Finding::none_yet);
  EXPECT_EQ(find(inquiry), Finding::has_ended);
}

TEST_F(InquiryTest, OfALifeInWhichNobodyWasToLookForItNothingIsSaid) {
  publish(address_key(kLife), no_address());
  Inquiry inquiry = ask();
  EXPECT_EQ(find(inquiry), Finding::none_yet);
}

TEST_F(InquiryTest, ALauncherThatDoesNotAnswerOrRefusesSaysNothing) {
  publish(address_key(kLife), address_);
  for (const Fault fault : {Fault::never(), Fault::failing()}) {
    launcher_->set_faults([&](const Operation& operation) { return operation.kind == Operation::Kind::lookup ? fault : Fault{}; });
    Inquiry inquiry = ask();
    EXPECT_EQ(find(inquiry), Finding::none_yet);
    EXPECT_FALSE(inquiry.newer());
  }
}

TEST_F(InquiryTest, ALaterLifeIsFound) {
  publish(address_key(kLife), address_);
  Inquiry inquiry = ask();
  EXPECT_FALSE(inquiry.newer());
  publish(end_key(kLife), mark());
  publish(address_key(kLife + 1), address_);
  const auto deadline = base::Deadline::after_seconds(20);
  std::optional<NetworkAddress> newer;
  while (!(newer = inquiry.newer()) && !deadline.passed()) std::this_thread::yield();
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->life, kLife + 1);
}

}  // namespace
}  // namespace shim::sessions
