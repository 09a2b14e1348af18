// SPDX-License-Identifier: BSD-3-Clause
// Tests all send modes and receives, at sizes around each limit, over networks with faults.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using transport::LoopFaults;

struct Network {
  const char* name;
  LoopFaults faults;
};
void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

class SendModes : public testing::TestWithParam<Network> {
 protected:
  World world{{.processes = 2, .faults = GetParam().faults}};
  std::vector<ContextPtr> contexts = world.contexts();

  void exchange(std::size_t bytes, SendMode mode, int source, int tag, bool receive_first) {
    SCOPED_TRACE(testing::Message()
                 << bytes << " bytes, mode " << static_cast<int>(mode) << ", source " << source
                 << ", tag " << tag << (receive_first ? ", posted" : ", unexpected"));
    Data sent = pattern(bytes, 7), received(bytes + 3, 0xee);
    Request* receive = nullptr;
    auto post = [&] {
      receive = value_of(world.engine(1).irecv(*contexts[1], into(received), source, tag));
    };
    if (receive_first) post();
    Request* send = value_of(world.engine(0).isend(*contexts[0], from(sent), 1, 5, mode));
    if (!receive_first) {
      for (int i = 0; i < 50; ++i) world.step();
      EXPECT_TRUE(send->is_done() == (mode != SendMode::synchronous && bytes <= 1024));
      post();
    }
    ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
    EXPECT_EQ(receive->error(), nullptr);
    EXPECT_EQ(receive->outcome().source, 0);
    EXPECT_EQ(receive->outcome().tag, 5);
    EXPECT_EQ(receive->outcome().bytes, bytes);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), received.begin()));
    EXPECT_EQ(received[bytes], 0xee) << "the receive wrote past the end of the message";
    world.engine(0).release(send);
    world.engine(1).release(receive);
  }
};

TEST_P(SendModes, DeliverMessagesOfAllSizesToReceivesWithWildcards) {
  // 2024 bytes of data fit into a packet of 2048: of 6073, one is left for the last
  for (std::size_t bytes :
       {0u, 1u, 8u, 127u, 129u, 1023u, 1024u, 1025u, 5000u, 6072u, 6073u, 70'000u, 1'200'000u}) {
    for (SendMode mode : {SendMode::standard, SendMode::synchronous, SendMode::ready}) {
      for (bool receive_first : {true, false}) {
        if (mode == SendMode::ready && !receive_first) continue;
        exchange(bytes, mode, 0, 5, receive_first);
        exchange(bytes, mode, kAnySource, 5, receive_first);
        exchange(bytes, mode, 0, kAnyTag, receive_first);
        exchange(bytes, mode, kAnySource, kAnyTag, receive_first);
      }
    }
  }
}

const Network kNetworks[] = {
    {"plain", {}},
    {"often_again", {.seed = 3, .again_chance = 0.5}},
    {"late", {.seed = 4, .max_delay = 5, .outbox_polls = 2}},
    {"no_reads", {.seed = 5, .reads = LoopFaults::Reads::unsupported}},
    {"reads_fail", {.seed = 6, .again_chance = 0.3, .reads = LoopFaults::Reads::fail}},
    {"reads_of_what_is_offered",
     {.seed = 8, .again_chance = 0.3, .reads = LoopFaults::Reads::offered}},
    {"reads_break", {.seed = 9, .max_delay = 3, .reads = LoopFaults::Reads::offered_break}},
    {"short_queue",
     {.seed = 7,
      .reads = LoopFaults::Reads::unsupported,
      .queue_limit = 2,
      .max_packet_bytes = 2048}},
};
INSTANTIATE_TEST_SUITE_P(P2p, SendModes, testing::ValuesIn(kNetworks),
                         [](const auto& network) { return network.param.name; });

}  // namespace
}  // namespace shim::p2p
