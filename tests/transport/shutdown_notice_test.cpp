// SPDX-License-Identifier: BSD-3-Clause
// Tests the shutdown notice, which a process that finalizes sends to all connected peers.
// tests/mpi/survivor_tools.c tests processes that die.
#include <gtest/gtest.h>

#include "shim/base/clock.hpp"
#include "shim/transport/failure_detector.hpp"
#include "shim/transport/net/net.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport::testing {
namespace {

std::unique_ptr<Net> make() {
  auto net = make_net(
      {.interface = "127.0.0.1", .open_fabric = nullptr, .max_packet_bytes = 16 * 1024});
  EXPECT_TRUE(net) << net.error().text();
  return net ? *std::move(net) : nullptr;
}

template <typename Condition>
bool poll_until(Net& net, const Condition& condition) {
  CallSink sink([](ConstSpan) {});
  for (const auto deadline = base::Deadline::after_seconds(20); !condition();) {
    if (deadline.passed() || !net.poll(sink)) return false;
  }
  return true;
}

TEST(ShutdownNotice, IsNotExpectedFromAPeerWithoutAConnection) {
  auto net = make(), other = make();
  auto link = net->open(other->address());
  ASSERT_TRUE(link);
  EXPECT_EQ(net->failure_detector()->shutdown_notice(**link), ShutdownNotice::not_expected);
}

TEST(ShutdownNotice, IsReceivedFromAPeerThatFinalizes) {
  auto net = make(), other = make();
  auto link = net->open(other->address());
  auto back = other->open(net->address());
  ASSERT_TRUE(link && back);
  const Bytes packet(8);
  CallSink sink([](ConstSpan) {});
  ASSERT_TRUE(poll_until(*net, [&] {
    auto sent = net->try_send(**link, packet, {});
    return other->poll(sink) && sent && *sent == Attempt::done;
  }));
  EXPECT_EQ(net->failure_detector()->shutdown_notice(**link), ShutdownNotice::missing);
  EXPECT_EQ(other->failure_detector()->shutdown_notice(**back), ShutdownNotice::missing);
  other.reset();
  EXPECT_TRUE(poll_until(*net, [&] { return net->failure_detector()->is_gone(**link); }));
  EXPECT_EQ(net->failure_detector()->shutdown_notice(**link), ShutdownNotice::received);
}

TEST(ShutdownNotice, IsReceivedByAPeerWhoseConnectIsUnanswered) {
  auto net = make(), other = make();
  auto link = net->open(other->address());
  ASSERT_TRUE(link);
  const Bytes packet(8);
  CallSink sink([](ConstSpan) {});
  // the kernel accepts the connection; the peer does not poll
  ASSERT_TRUE(poll_until(*net, [&] {
    static_cast<void>(net->try_send(**link, packet, {}));
    return net->failure_detector()->shutdown_notice(**link) == ShutdownNotice::missing;
  }));
  other.reset();
  EXPECT_TRUE(poll_until(*net, [&] { return net->failure_detector()->is_gone(**link); }));
  EXPECT_EQ(net->failure_detector()->shutdown_notice(**link), ShutdownNotice::received);
}

}  // namespace
}  // namespace shim::transport::testing
