// SPDX-License-Identifier: BSD-3-Clause
// Tests receives that a transport matches, together with the queues of the engine. traffic_test.cpp
// tests both under random traffic.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using base::ErrorClass;
using Traits = MatchingTransport::Traits;

/// Processes 0 and 1 share a node, 2 and 3 another.
class ProviderMatching : public testing::Test {
 protected:
  explicit ProviderMatching(Traits traits = {})
      : world({.processes = 4, .matching_transport = traits, .node_size = 2}),
        contexts(world.contexts()) {}

  Request* send(int source, const Data& data, int tag, SendMode mode = SendMode::standard,
                int dest = 0) {
    return value_of(world.engine(source).isend(*contexts[static_cast<std::size_t>(source)],
                                               from(data), dest, tag, mode));
  }
  Request* receive(Data& data, int source, int tag, int rank = 0) {
    return value_of(world.engine(rank).irecv(*contexts[static_cast<std::size_t>(rank)], into(data),
                                             source, tag));
  }
  bool ends(const Request* request) {
    return world.step_until([&] { return request->is_done(); });
  }
  void step(int rounds) {
    for (int i = 0; i < rounds; ++i) world.step();
  }
  void finish(std::initializer_list<Request*> requests) {
    for (Request* request : requests) {
      ASSERT_TRUE(ends(request));
      EXPECT_EQ(request->error(), nullptr);
      Engine::release(request);
    }
  }
  std::uint64_t matched() { return world.matching_transport(0).matched; }

  World world;
  std::vector<ContextPtr> contexts;
  Data first = pattern(100, 1), second = pattern(100, 2), third = pattern(100, 3), got = Data(100),
       other = Data(100);
};

TEST_F(ProviderMatching, MatchesReceivesWithASourceInTheProvider) {
  // the receive waits in the engine until the link to its source is open
  finish({receive(got, 2, 1), send(2, first, 1)});
  EXPECT_EQ(got, first);
  step(20);
  const std::uint64_t before = matched();
  for (int tag : {3, kAnyTag}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{100'000}}) {
      Data sent = pattern(bytes, 4), received(bytes);
      finish({receive(received, 2, tag), send(2, sent, 3)});
      EXPECT_EQ(received, sent);
    }
  }
  finish({receive(got, 2, 3), send(2, second, 3, SendMode::synchronous)});
  EXPECT_EQ(matched(), before + 7);
  EXPECT_EQ(world.engine(0).counts().matched_by_provider, matched());
}

TEST_F(ProviderMatching, AnySourceReceiveMatchesFromBothQueues) {
  for (int source : {2, 1, 0, 2, 2, 1}) {
    Request* open = receive(got, kAnySource, 3);
    Data sent = pattern(100, static_cast<std::uint32_t>(source));
    Request* gave = send(source, sent, 3);
    ASSERT_TRUE(ends(open));
    EXPECT_EQ(open->outcome().source, source);
    EXPECT_EQ(got, sent);
    finish({open, gave});
  }
}

TEST_F(ProviderMatching, LaterReceivesDoNotOvertakeAnAnySourceReceive) {
  Request* any = receive(got, kAnySource, 3);
  Request* named = receive(other, 2, 3);
  step(50);
  Request* gave[] = {send(2, first, 3), send(2, second, 3)};
  finish({any, named, gave[0], gave[1]});
  EXPECT_EQ(got, first);
  EXPECT_EQ(other, second);
}

TEST_F(ProviderMatching, AnySourceReceiveDoesNotOvertakeEarlierReceives) {
  finish({receive(got, 2, 1), send(2, third, 1)});
  step(20);
  Request* named = receive(other, 2, 3);
  Request* any = receive(got, kAnySource, 3);
  step(50);
  Request* gave[] = {send(2, first, 3), send(2, second, 3)};
  finish({any, named, gave[0], gave[1]});
  EXPECT_EQ(other, first);
  EXPECT_EQ(got, second);
}

TEST_F(ProviderMatching, UnexpectedMessagesKeepTheirOrder) {
  finish({send(2, first, 3), send(2, second, 4), send(2, third, 3)});
  step(20);
  EXPECT_TRUE(world.step_until(
      [&] { return value_of(world.engine(0).iprobe(*contexts[0], kAnySource, 4)).has_value(); }));
  finish({receive(got, 2, kAnyTag)});
  EXPECT_EQ(got, first) << "although the probe was for the second message";
  finish({receive(got, 2, 3)});
  EXPECT_EQ(got, third);
  finish({receive(got, 2, kAnyTag)});
  EXPECT_EQ(got, second);
}

TEST_F(ProviderMatching, ProbesFindProviderMessages) {
  Request* gave = send(2, first, 3);
  EXPECT_EQ(value_of(world.engine(0).probe(*contexts[0], 2, kAnyTag)).tag, 3);
  auto matched = value_of(world.engine(0).mprobe(*contexts[0], kAnySource, 3));
  EXPECT_FALSE(value_of(world.engine(0).iprobe(*contexts[0], 2, 3)));
  EXPECT_EQ(value_of(world.engine(0).mrecv(matched.message, into(got))).source, 2);
  EXPECT_EQ(got, first);
  finish({gave});
}

TEST_F(ProviderMatching, ReceivesReturnToTheProviderAfterAnySourceEnds) {
  Request* any = receive(got, kAnySource, 9);
  Request* named = receive(other, 2, 3);
  step(50);
  const std::uint64_t before = matched();
  finish({send(1, first, 9), any});
  step(50);
  finish({send(2, second, 3), named});
  EXPECT_EQ(other, second);
  EXPECT_EQ(matched(), before + 1);
}

TEST_F(ProviderMatching, AnySourceReceiveDrainsOnlyItsCommunicator) {
  const base::ContextPath path = *base::ContextPath{}.child(1);
  const auto others = world.contexts(path);
  const auto is_draining = [&](base::ContextPath of) {
    return world.matching_transport(0).is_draining(base::context_id(100, of, false));
  };
  const auto receive_there = [&](Data& data, int source) {
    return value_of(world.engine(0).irecv(*others[0], into(data), source, 3));
  };
  const auto send_there = [&](const Data& data) {
    return value_of(world.engine(2).isend(*others[2], from(data), 0, 3, SendMode::standard));
  };
  finish({receive(got, 2, 1), send(2, third, 1)});
  step(20);
  Request* any = receive(got, kAnySource, 9);
  Request* blocked = receive(other, 2, 3);
  step(50);
  std::uint64_t before = matched();
  Data there(100);
  Request* named = receive_there(there, 2);
  finish({send_there(third), named});
  EXPECT_EQ(there, third);
  EXPECT_EQ(matched(), before + 1);
  // a receive from any source on this communicator drains it, too
  Request* another = receive_there(there, kAnySource);
  step(50);
  EXPECT_TRUE(is_draining({}) && is_draining(path));
  finish({send_there(second), another, send(2, first, 3), blocked});
  EXPECT_EQ(there, second);
  EXPECT_EQ(other, first);
  EXPECT_EQ(matched(), before + 1);
  step(50);
  EXPECT_TRUE(is_draining({}) && !is_draining(path));
  EXPECT_FALSE(value_of(world.engine(0).iprobe(*others[0], 2, 3)));
  named = receive_there(there, 2);
  step(200);
  finish({send_there(third), named});
  EXPECT_EQ(there, third);
  EXPECT_EQ(matched(), before + 2) << "the receive must return to the provider";
  finish({send(1, first, 9), any});
}

TEST_F(ProviderMatching, ReportsTruncation) {
  for (const std::size_t bytes : {std::size_t{200}, std::size_t{100'000}}) {
    Data sent = pattern(bytes, 1);
    Request* gave = send(2, sent, 3);
    Request* short_one = receive(got, 2, 3);
    ASSERT_TRUE(ends(short_one) && ends(gave));
    ASSERT_NE(short_one->error(), nullptr);
    EXPECT_EQ(short_one->error()->error_class(), ErrorClass::truncate);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), sent.begin()));
    Engine::release(short_one);
    finish({gave});
  }
}

TEST_F(ProviderMatching, CancelsAReceiveUnlessMatched) {
  finish({receive(got, 2, 1), send(2, third, 1)});
  step(20);
  Request* taken_back = receive(got, 2, 3);
  ASSERT_TRUE(Engine::cancel(*taken_back));
  ASSERT_TRUE(Engine::cancel(*taken_back)) << "twice is as good";
  ASSERT_TRUE(ends(taken_back));
  EXPECT_TRUE(taken_back->outcome().cancelled);
  Engine::release(taken_back);
  finish({send(2, first, 3), receive(got, 2, 3)});
  EXPECT_EQ(got, first);
}

TEST_F(ProviderMatching, CancelsAnUnmatchedSend) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{100'000}}) {
    for (const SendMode mode : {SendMode::standard, SendMode::synchronous}) {
      Data sent = pattern(bytes, 1);
      Request* gave = send(2, sent, 3, mode);
      step(20);
      ASSERT_TRUE(Engine::cancel(*gave));
      ASSERT_TRUE(ends(gave));
      EXPECT_TRUE(gave->outcome().cancelled);
      Engine::release(gave);
      EXPECT_FALSE(value_of(world.engine(0).iprobe(*contexts[0], kAnySource, kAnyTag)));
    }
  }
}

TEST_F(ProviderMatching, DoesNotCancelAMatchedSend) {
  Request* open = receive(got, 2, 3);
  Request* gave = send(2, first, 3);
  ASSERT_TRUE(ends(open));
  ASSERT_TRUE(Engine::cancel(*gave));
  ASSERT_TRUE(ends(gave));
  EXPECT_FALSE(gave->outcome().cancelled);
  finish({open, gave});
}

TEST_F(ProviderMatching, HoldsMessagesForALaterCommunicator) {
  const base::ContextPath path = *base::ContextPath{}.child(1);
  ContextPtr early = world.context(2, path);
  Request* gave = value_of(world.engine(2).isend(*early, from(first), 0, 3, SendMode::standard));
  Request* any = receive(other, kAnySource, 9);  // so that the engine drains the message
  step(50);
  ContextPtr late = world.context(0, path);
  Request* open = value_of(world.engine(0).irecv(*late, into(got), 2, 3));
  finish({gave, open, send(1, second, 9), any});
  EXPECT_EQ(got, first);
}

TEST_F(ProviderMatching, DeathFailsReceivesAfterDeliveringSentMessages) {
  finish({receive(got, 2, 1), send(2, third, 1)});
  step(20);
  finish({send(2, first, 5)});
  step(20);  // the message has arrived, unexpected
  Request* unsatisfiable = receive(got, 2, 3);
  world.kill(2);
  ASSERT_TRUE(world.engine(0).wait(*unsatisfiable));
  ASSERT_NE(unsatisfiable->error(), nullptr);
  EXPECT_EQ(unsatisfiable->error()->error_class(), ErrorClass::proc_aborted);
  Engine::release(unsatisfiable);
  EXPECT_EQ(value_of(world.engine(0).recv(*contexts[0], into(got), 2, 5)).bytes, 100u);
  EXPECT_EQ(got, first);
  auto later = world.engine(0).recv(*contexts[0], into(got), 2, 5);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().error_class(), ErrorClass::proc_aborted);
}

TEST_F(ProviderMatching, OthersContinueIfAProcessDiesDuringADrain) {
  for (int source : {2, 3}) finish({receive(got, source, 1), send(source, third, 1)});
  step(20);
  Data from_any(100), from_three(100);
  Request* at_the_provider = receive(got, 2, 3);
  MessageStatus outcome;
  Request* any = value_of(world.engine(0).receive_or_start(
      *contexts[0], into(from_any), kAnySource, 9, outcome));  // stays pending after a failure
  Request* waiting = receive(other, 2, 3);
  Request* named = receive(from_three, 3, 3);
  step(20);
  world.kill(2);
  for (Request* unsatisfiable : {at_the_provider, waiting}) {
    ASSERT_TRUE(world.engine(0).wait(*unsatisfiable));
    ASSERT_NE(unsatisfiable->error(), nullptr);
    EXPECT_EQ(unsatisfiable->error()->error_class(), ErrorClass::proc_aborted);
    Engine::release(unsatisfiable);
  }
  EXPECT_FALSE(any->is_done());
  finish({send(3, first, 9), any});
  EXPECT_EQ(from_any, first);
  step(50);
  const std::uint64_t before = matched();
  finish({send(3, second, 3), named});
  EXPECT_EQ(from_three, second);
  EXPECT_EQ(matched(), before + 1) << "the drain of the dead process's messages must have ended";
}

TEST_F(ProviderMatching, RepostsAReceiveConsumedByAnInvalidMessage) {
  finish({receive(got, 2, 1), send(2, third, 1)});
  step(20);
  for (const bool is_draining : {false, true}) {
    Request* named = receive(got, 2, 3);
    Request* any = is_draining ? receive(other, kAnySource, 9) : nullptr;
    step(20);
    world.matching_transport(0).consume_a_receive();
    step(20);
    finish({send(2, first, 3), named});
    EXPECT_EQ(got, first);
    if (any != nullptr) finish({send(2, second, 9), any});
  }
  EXPECT_EQ(world.engine(0).counts().stale_dropped, 2u);
}

TEST_F(ProviderMatching, EngineMayBeDestroyedBeforeItsRequestsAndTransport) {
  finish({receive(got, 2, 1), send(2, third, 1)});
  step(20);
  receive(got, 2, 3);
}

class ProviderMatchingWithFewReceives : public ProviderMatching {
 protected:
  ProviderMatchingWithFewReceives() : ProviderMatching({.free_receives = 2}) {}
};

TEST_F(ProviderMatchingWithFewReceives, ServesMoreReceivesThanTheProviderHoldsInOrder) {
  constexpr int kMessages = 20;
  std::vector<Data> sent, received(kMessages, Data(100));
  std::vector<Request*> requests;
  for (int i = 0; i < kMessages; ++i) {
    sent.push_back(pattern(100, static_cast<std::uint32_t>(i)));
    requests.push_back(receive(received[static_cast<std::size_t>(i)], 2, i % 2 == 0 ? 3 : kAnyTag));
  }
  for (const Data& data : sent) requests.push_back(send(2, data, 3));
  for (Request* request : requests) finish({request});
  EXPECT_EQ(received, sent);
}

class ProviderMatchingOfFewContexts : public ProviderMatching {
 protected:
  // context ids begin with the base in the upper 32 bits; members have the bases 100, 101 and 102
  ProviderMatchingOfFewContexts() : ProviderMatching({.contexts = std::uint64_t{101} << 32}) {}
};

TEST_F(ProviderMatchingOfFewContexts, SendsPacketsIfTheContextIdDoesNotFit) {
  for (int rank : {0, 1}) {  // only the context id of rank 0 fits
    Request* any = receive(got, kAnySource, 3, rank);
    Request* gave = send(2, first, 3, SendMode::standard, rank);
    finish({any, gave});
    EXPECT_EQ(got, first);
    finish({send(2, second, 4, SendMode::standard, rank), receive(got, 2, 4, rank)});
    EXPECT_EQ(got, second);
  }
  EXPECT_NE(world.matching_transport(0).matched + world.matching_transport(0).drained, 0u);
  EXPECT_EQ(world.matching_transport(1).matched + world.matching_transport(1).drained, 0u);
}

}  // namespace
}  // namespace shim::p2p
