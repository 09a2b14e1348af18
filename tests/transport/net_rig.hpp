// SPDX-License-Identifier: BSD-3-Clause
// NetFixture is a fixture for tests of Net over real sockets of this machine and an in-memory
// fabric.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/transport/loop/loop.hpp"
#include "shim/transport/net/net.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport::testing {

inline constexpr std::size_t kPacketBytes = 16 * 1024;

inline ConstSpan text(std::string_view of) { return std::as_bytes(std::span(of)); }

/// Makes ends of Net in this process, at 127.0.0.1, over an in-memory fabric.
class NetFixture : public ::testing::Test {
 protected:
  struct End {
    std::unique_ptr<Net> net;
    std::vector<std::string> received;
    base::Result<int> poll() {
      CallSink sink([&](ConstSpan packet) {
        received.emplace_back(reinterpret_cast<const char*>(packet.data()), packet.size());
      });
      return net->poll(sink);
    }
  };

  End make() {
    return make([this]() -> FabricResult {
      ++fabrics_;
      return network_.add();
    });
  }
  End make(FabricOpenTask::Work open_fabric) {
    auto net = make_net({.interface = "127.0.0.1",
                         .open_fabric = std::move(open_fabric),
                         .max_packet_bytes = kPacketBytes});
    EXPECT_TRUE(net) << net.error().text();
    return {*std::move(net), {}};
  }
  static Link& link(End& from, const End& to) { return **from.net->open(to.net->address()); }

  /// Poll all ends until the condition holds.
  template <typename Condition>
  static void poll_until(std::vector<End*> ends, const Condition& condition) {
    const base::Deadline deadline = base::Deadline::after_seconds(20);
    while (!condition()) {
      ASSERT_FALSE(deadline.passed());
      for (End* end : ends) ASSERT_TRUE(end->poll());
    }
  }

  LoopNetwork network_;
  std::atomic<int> fabrics_ = 0;
};

inline bool is_readable(int descriptor) {
  pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace shim::transport::testing
