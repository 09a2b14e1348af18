// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/peers.hpp"

#include <gtest/gtest.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

constexpr base::ProcessId kOne{0, 1};

TEST(Peers, HasOneRecordPerProcess) {
  Peers peers;
  EXPECT_EQ(peers.find(kOne), nullptr);
  Peer& one = peers.at(kOne);
  EXPECT_EQ(&peers.at(kOne), &one);
  Context context(nullptr, spec_of(3));
  EXPECT_EQ(&peers.at(context, 1), &one);
  EXPECT_EQ(context.known_peer(1), &one);
}

TEST(Peers, RevokedContextKnowsNoPeer) {
  Peers peers;
  Context context(nullptr, spec_of(3));
  context.is_revoked = true;
  EXPECT_EQ(&peers.at(context, 1), &peers.at(kOne));
  EXPECT_EQ(context.known_peer(1), nullptr);
}

TEST(Peers, RetiredRecordStaysAndLaterIncarnationGetsAnother) {
  Peers peers;
  Peer& failed = peers.at(kOne);
  failed.failure = base::Error(base::ErrorClass::proc_aborted, "has died");
  peers.retire(failed);
  peers.retire(failed);
  EXPECT_EQ(peers.find(kOne), nullptr);
  EXPECT_NE(&peers.at(kOne), &failed);
  int retired = 0;
  peers.for_each_retired([&](const Peer& peer) { retired += &peer == &failed ? 1 : 100; });
  EXPECT_EQ(retired, 1);
  ASSERT_NE(peers.last_failure(kOne), nullptr);
  EXPECT_EQ(peers.last_failure(kOne)->text(), "has died");
}

}  // namespace
}  // namespace shim::p2p
