// SPDX-License-Identifier: BSD-3-Clause
// Tests when the transport between nodes opens the fabric, and which connections remain.
#include <gmock/gmock.h>

#include <string>

#include "shim/transport/setup_path.hpp"
#include "tests/base/open_descriptors.hpp"
#include "tests/transport/net_rig.hpp"

namespace shim::transport::testing {
namespace {

using base::open_descriptors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NetFabricTest : public NetFixture {};

TEST_F(NetFabricTest, FabricRequestFailsIfThePeerHasNoFabric) {
  End one = make(), other = make({});
  Link& to = link(one, other);
  std::string reason;
  poll_until({&one, &other}, [&] {
    const auto sent = one.net->try_send(to, text("a"), {});
    if (!sent) reason = sent.error().text();
    return !sent;
  });
  EXPECT_THAT(reason, HasSubstr("TCP between nodes"));
}

TEST_F(NetFabricTest, ControlPacketsOpenNoFabric) {
  End one = make(), other = make();
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(link(one, other), text("a"), text("b")),
            Attempt::done);
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(link(one, other), text("c"), {}), Attempt::done);
  poll_until({&one, &other}, [&] { return other.received.size() == 2; });
  EXPECT_THAT(other.received, ElementsAre("ab", "c"));
  EXPECT_EQ(*other.net->setup_path()->try_send_ahead(link(other, one), text("d"), {}),
            Attempt::done);
  poll_until({&one, &other}, [&] { return one.received.size() == 1; });
  EXPECT_EQ(fabrics_, 0);
  EXPECT_EQ(one.net->counts().tcp_connections, 1u);
  EXPECT_EQ(other.net->counts().tcp_connections, 0u) << "one connection serves both directions";
  EXPECT_EQ(one.net->counts().tcp_messages, 2u);
  poll_until({}, [&] { return one.net->is_flushed() && other.net->is_flushed(); });
}

TEST_F(NetFabricTest, FirstMessageOpensTheFabricAtBothEnds) {
  End one = make(), other = make(), third = make();
  EXPECT_EQ(*one.net->try_send(link(one, other), text("first"), {}), Attempt::again);
  poll_until({&one, &other, &third}, [&] {
    return *one.net->try_send(link(one, other), text("first"), {}) == Attempt::done;
  });
  poll_until({&one, &other, &third}, [&] { return !other.received.empty(); });
  EXPECT_THAT(other.received, ElementsAre("first"));
  EXPECT_EQ(fabrics_, 2);
  EXPECT_EQ(one.net->counts().fabrics_open, 1u);
  EXPECT_EQ(third.net->counts().fabrics_open, 0u);
}

TEST_F(NetFabricTest, ClosesAConnectionThatOnlyOpenedTheFabric) {
  End one = make(), other = make();
  const std::size_t before = open_descriptors();
  poll_until({&one, &other}, [&] {
    return *one.net->try_send(link(one, other), text("there"), {}) == Attempt::done;
  });
  poll_until({&one, &other}, [&] {
    return *other.net->try_send(link(other, one), text("back"), {}) == Attempt::done;
  });
  poll_until({&one, &other}, [&] { return open_descriptors() == before; });
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(link(one, other), text("ahead"), {}),
            Attempt::done)
      << "a new connection must be possible";
  poll_until({&one, &other},
             [&] { return other.received.size() == 2 && one.received.size() == 1; });
  EXPECT_EQ(open_descriptors(), before + 2)
      << "a connection for packets stays open: two descriptors";
}

TEST_F(NetFabricTest, RequestedPeerKnowsTheRequesterAfterClose) {
  End one = make(), other = make();
  const std::size_t before = open_descriptors();
  poll_until({&one, &other}, [&] {
    return *one.net->try_send(link(one, other), text("there"), {}) == Attempt::done;
  });
  poll_until({&one, &other}, [&] { return open_descriptors() == before; });
  EXPECT_EQ(*other.net->try_send(link(other, one), text("back"), {}), Attempt::done)
      << "the requested peer needs no fabric request";
  poll_until({&one, &other}, [&] { return !one.received.empty(); });
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(NetFabricTest, FabricOpenFailureFailsBothEnds) {
  End one = make(), other = make([]() -> FabricResult {
                      return base::Error(base::ErrorClass::other, "no cable");
                    });
  base::Result<Attempt> sent = Attempt::again;
  poll_until({&one, &other},
             [&] { return !(sent = one.net->try_send(link(one, other), text("x"), {})); });
  EXPECT_EQ(sent.error().error_class(), base::ErrorClass::proc_aborted);
  EXPECT_THAT(sent.error().text(), HasSubstr("no cable"));
  EXPECT_THAT(other.net->try_send(link(other, one), text("x"), {}).error().text(),
              HasSubstr("no cable"));
  EXPECT_EQ(*one.net->setup_path()->try_send_ahead(link(one, other), text("still"), {}),
            Attempt::done);
  poll_until({&one, &other}, [&] { return !other.received.empty(); });
}

}  // namespace
}  // namespace shim::transport::testing
