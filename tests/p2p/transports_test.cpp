// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/transports.hpp"

#include <gtest/gtest.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

struct TransportsTest : testing::Test {
  TransportsTest() {
    transports.add(first);
    transports.add(second);
  }
  Transports::PollResult poll(bool thorough) {
    return transports.poll(thorough, sink, status, [] { return false; });
  }
  void poll_until_second_is_skipped() {
    for (int polls = 0; polls < 1'000; ++polls) {
      const int before = second.polls;
      poll(false);
      if (second.polls == before) return;
    }
    FAIL() << "the second transport is polled each time";
  }
  StubTransport first, second;
  Transports transports;
  IgnoringSink sink;
  base::Status status;
};

TEST_F(TransportsTest, AddsTransportOnce) {
  transports.add(first);
  EXPECT_EQ(transports.size(), 2u);
}

TEST_F(TransportsTest, SkipsIdleTransportExceptInThoroughPolls) {
  poll_until_second_is_skipped();
  const int first_polls = first.polls, second_polls = second.polls;
  EXPECT_FALSE(poll(false).is_complete);
  EXPECT_EQ(first.polls, first_polls + 1) << "the first is never skipped";
  EXPECT_EQ(second.polls, second_polls);
  EXPECT_TRUE(poll(true).is_complete);
  EXPECT_EQ(second.polls, second_polls + 1);
}

TEST_F(TransportsTest, PacketEndsSkipping) {
  poll_until_second_is_skipped();
  second.packets = 1;
  EXPECT_EQ(poll(true).packets, 1);
  EXPECT_TRUE(poll(false).is_complete);
}

TEST_F(TransportsTest, EndsPollOnceEnoughHasArrived) {
  const auto polled = transports.poll(true, sink, status, [] { return true; });
  EXPECT_FALSE(polled.is_complete);
  EXPECT_EQ(first.polls, 1);
  EXPECT_EQ(second.polls, 0);
}

TEST_F(TransportsTest, AreFlushedIfEachIs) {
  EXPECT_TRUE(transports.are_flushed());
  second.flushed = false;
  EXPECT_FALSE(transports.are_flushed());
}

}  // namespace
}  // namespace shim::p2p
