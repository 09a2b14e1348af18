// SPDX-License-Identifier: BSD-3-Clause
// Tests ControlInbox without an engine.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shim/p2p/control_inbox.hpp"

namespace shim::p2p {
namespace {

transport::ConstSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

struct ControlInboxPart : testing::Test {
  bool add(std::string_view part, std::uint64_t offset, std::uint64_t total) {
    wire::Control header;
    header.offset = offset;
    header.total = total;
    return inbox.add(sender, header, bytes_of(part));
  }
  ControlHandler recorder() {
    return [this](base::ProcessId from, std::span<const std::byte> bytes) {
      EXPECT_EQ(from, sender.process);
      handled.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
  }
  EngineLock lock;
  ControlInbox inbox{lock};
  Peer sender{{0, 3}};
  std::vector<std::string> handled;
};

TEST_F(ControlInboxPart, HandlesWholeMessagesInOrder) {
  EXPECT_TRUE(add("ab", 0, 4));
  EXPECT_TRUE(inbox.is_empty());
  EXPECT_TRUE(add("cd", 2, 4));
  EXPECT_TRUE(add("x", 0, 1));
  EXPECT_FALSE(inbox.has_work()) << "there is no handler";
  inbox.set_handler(recorder());
  EXPECT_TRUE(inbox.has_work());
  inbox.handle();
  EXPECT_EQ(handled, (std::vector<std::string>{"abcd", "x"}));
  EXPECT_TRUE(inbox.is_empty());
}

TEST_F(ControlInboxPart, RefusesPartThatContinuesNothing) {
  EXPECT_FALSE(add("cd", 2, 4));
  EXPECT_TRUE(add("ab", 0, 4));
  EXPECT_FALSE(add("cde", 2, 4)) << "longer than the message";
  EXPECT_TRUE(inbox.is_empty());
}

TEST_F(ControlInboxPart, FirstPartReplacesUnfinishedMessage) {
  inbox.set_handler(recorder());
  EXPECT_TRUE(add("old", 0, 9));
  EXPECT_TRUE(add("new", 0, 3));
  inbox.handle();
  EXPECT_EQ(handled, std::vector<std::string>{"new"});
}

TEST_F(ControlInboxPart, HandlerMayAddMessages) {
  inbox.set_handler([&](base::ProcessId, std::span<const std::byte> bytes) {
    handled.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const Guard guard = lock.enter();
    if (handled.size() == 1) add("second", 0, 6);
  });
  add("first", 0, 5);
  inbox.handle();
  EXPECT_EQ(handled, (std::vector<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace shim::p2p
