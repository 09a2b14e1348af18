// SPDX-License-Identifier: BSD-3-Clause
// Tests random traffic between several engines, which one thread steps from a seed. Checks MPI's
// guarantees: each message arrives once, and messages of one pair do not overtake each other
// (MPI-4.1 §3.5).
#include <map>
#include <random>

#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

/// The first bytes of each message.
struct Label {
  std::uint32_t source, dest, tag, number, bytes, communicator;
};

struct Sent {
  Data data;
  Request* request;
};
struct Received {
  Data data;
  Request* request;
  int source, tag, communicator;
};

/// The engine matches; or the transports match all messages, or messages between nodes of two.
enum class Matched { in_engine, in_provider, in_provider_between_nodes };

class RandomTraffic : public testing::TestWithParam<std::tuple<unsigned, Matched>> {
 protected:
  static constexpr int kProcesses = 4, kTags = 2, kCommunicators = 2, kOperations = 1500;

  static World::Options options(unsigned seed, Matched matched) {
    World::Options options{.processes = kProcesses};
    options.faults = {.seed = seed,
                      .again_chance = 0.2,
                      .max_delay = seed % 5,
                      .reorder_pairs = seed % 2 == 0,
                      .queue_limit = 8};
    if (seed % 4 == 1) options.settings.unexpected_bytes = 20'000;  // bytes of a few messages
    if (seed % 3 == 0) options.faults.reads = transport::LoopFaults::Reads::unsupported;
    if (matched != Matched::in_engine) {
      options.matching_transport = {.seed = seed,
                                    .free_receives = seed % 4 == 0 ? 2u : 100u,
                                    .slowness = static_cast<int>(seed % 4),
                                    .refusals = seed % 3 == 1 ? 0.4 : 0};
    }
    if (matched == Matched::in_provider_between_nodes) options.node_size = 2;
    return options;
  }
  Context& context_of(int rank, int communicator) {
    return *contexts_[communicator][static_cast<std::size_t>(rank)];
  }
  /// Return a communicator; the second one is rarer.
  int any_communicator() { return any(3) == 0 ? 1 : 0; }
  int any(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::size_t any_length() {
    constexpr std::size_t kLengths[] = {sizeof(Label), 100, 1024, 1025, 3000, 20'000};
    return kLengths[any(6)];
  }

  void send() {
    int source = any(kProcesses), dest = any(kProcesses), tag = any(kTags),
        communicator = any_communicator();
    std::size_t bytes = any_length();
    Label label{
        static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(dest),
        static_cast<std::uint32_t>(tag),    next_number_[{source, dest, tag, communicator}]++,
        static_cast<std::uint32_t>(bytes),  static_cast<std::uint32_t>(communicator)};
    auto sent = std::make_unique<Sent>();
    sent->data = pattern(bytes, label.number);
    std::memcpy(sent->data.data(), &label, sizeof label);
    SendMode mode = any(4) == 0 ? SendMode::synchronous : SendMode::standard;
    Context& context = context_of(source, communicator);
    sent->request = any(5) == 0 ? value_of(world_.engine(source).isend_copied(
                                      context, from(sent->data), dest, tag))
                                : value_of(world_.engine(source).isend(context, from(sent->data),
                                                                       dest, tag, mode));
    sends_[static_cast<std::size_t>(source)].push_back(std::move(sent));
  }
  void receive() {
    int rank = any(kProcesses);
    auto received = std::make_unique<Received>();
    received->data.resize(20'000);
    received->communicator = any_communicator();
    received->source = any(received->communicator == 0 ? 2 : 20) == 0 ? kAnySource
                                                                      : any(kProcesses);
    received->tag = any(3) == 0 ? kAnyTag : any(kTags);
    received->request = value_of(world_.engine(rank).irecv(context_of(rank, received->communicator),
                                                           into(received->data), received->source,
                                                           received->tag));
    receives_[static_cast<std::size_t>(rank)].push_back(std::move(received));
  }
  /// Cancel a random receive, which may have matched already.
  void cancel() {
    auto& receives = receives_[any(kProcesses)];
    if (receives.empty()) return;
    ASSERT_TRUE(Engine::cancel(*receives[random_() % receives.size()]->request));
  }
  void drain(int rank, int communicator) {
    Engine& engine = world_.engine(rank);
    Context& context = context_of(rank, communicator);
    while (auto seen = value_of(engine.iprobe(context, kAnySource, kAnyTag))) {
      auto received = std::make_unique<Received>();
      received->data.resize(seen->bytes);
      received->source = seen->source;
      received->tag = seen->tag;
      received->communicator = communicator;
      received->request = value_of(
          engine.irecv(context, into(received->data), seen->source, seen->tag));
      receives_[static_cast<std::size_t>(rank)].push_back(std::move(received));
    }
  }
  /// Receive all messages without a receive; return true if all sends are complete.
  bool drain() {
    bool all = true;
    for (int rank = 0; rank < kProcesses; ++rank) {
      for (int communicator = 0; communicator < kCommunicators; ++communicator)
        drain(rank, communicator);
      for (auto& sent : sends_[static_cast<std::size_t>(rank)])
        all = all && sent->request->is_done();
    }
    return all;
  }
  /// Cancel all receives; no effect on receives that have matched.
  void cancel_all() {
    for (auto& receives : receives_) {
      for (auto& received : receives) ASSERT_TRUE(Engine::cancel(*received->request));
    }
    ASSERT_TRUE(world_.step_until([&] {
      return std::ranges::all_of(receives_, [](auto& receives) {
        return std::ranges::all_of(receives,
                                   [](auto& received) { return received->request->is_done(); });
      });
    }));
  }
  void check(int rank) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> next;
    for (auto& received : receives_[static_cast<std::size_t>(rank)]) {
      auto& engine = world_.engine(rank);
      const MessageStatus outcome = received->request->outcome();
      ASSERT_EQ(received->request->error(), nullptr) << received->request->error()->text();
      engine.release(received->request);
      if (outcome.cancelled) continue;
      ++received_count_;
      Label label;
      std::memcpy(&label, received->data.data(), sizeof label);
      ASSERT_EQ(label.dest, static_cast<std::uint32_t>(rank));
      ASSERT_EQ(label.source, static_cast<std::uint32_t>(outcome.source));
      ASSERT_EQ(label.tag, static_cast<std::uint32_t>(outcome.tag));
      ASSERT_EQ(label.bytes, outcome.bytes);
      ASSERT_EQ(label.communicator, static_cast<std::uint32_t>(received->communicator));
      ASSERT_TRUE(received->source == kAnySource || received->source == outcome.source);
      ASSERT_TRUE(received->tag == kAnyTag || received->tag == outcome.tag);
      Data expected = pattern(label.bytes, label.number);
      ASSERT_TRUE(std::equal(expected.begin() + sizeof label, expected.end(),
                             received->data.begin() + sizeof label));
      // the receives are in the order of posting
      ASSERT_EQ(label.number, (next[{label.source, label.tag, label.communicator}]++))
          << "message overtaken";
    }
  }

  std::mt19937 random_{std::get<unsigned>(GetParam())};
  World world_{options(std::get<unsigned>(GetParam()), std::get<Matched>(GetParam()))};
  std::vector<ContextPtr> contexts_[kCommunicators] = {
      world_.contexts(), world_.contexts(*base::ContextPath{}.child(1))};
  std::map<std::tuple<int, int, int, int>, std::uint32_t> next_number_;
  std::vector<std::unique_ptr<Sent>> sends_[kProcesses];
  std::vector<std::unique_ptr<Received>> receives_[kProcesses];
  int received_count_ = 0;
};

TEST_P(RandomTraffic, EachMessageArrivesOnceAndInOrder) {
  int sent = 0;
  for (int i = 0; i < kOperations; ++i) {
    switch (any(6)) {
      case 0:
      case 1:
        send();
        ++sent;
        break;
      case 2:
      case 3:
        receive();
        break;
      case 4:
        if (any(10) == 0) cancel();
        break;
      default:
        ASSERT_TRUE(world_.engine(any(kProcesses)).progress());
    }
  }
  ASSERT_TRUE(world_.step_until([&] { return drain(); }));
  for (int i = 0; i < 100; ++i) world_.step();
  drain();
  cancel_all();
  for (int rank = 0; rank < kProcesses; ++rank) {
    check(rank);
    if (HasFatalFailure()) return;
    for (auto& each : sends_[static_cast<std::size_t>(rank)])
      world_.engine(rank).release(each->request);
  }
  EXPECT_EQ(received_count_, sent);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic,
                         testing::Combine(testing::Range(1u, 13u),
                                          testing::Values(Matched::in_engine, Matched::in_provider,
                                                          Matched::in_provider_between_nodes)));

class AllSendFirst : public testing::TestWithParam<std::size_t> {};

TEST_P(AllSendFirst, CompletesWithoutDeadlock) {
  constexpr int kProcesses = 4;
  World world{{.processes = kProcesses, .faults = {.seed = 9, .queue_limit = 4}}};
  auto contexts = world.contexts();
  std::vector<Data> sent;
  for (int rank = 0; rank < kProcesses; ++rank)
    sent.push_back(pattern(GetParam(), static_cast<std::uint32_t>(rank)));
  std::vector<std::pair<int, Request*>> sends;
  for (int rank = 0; rank < kProcesses; ++rank) {
    for (int dest = 0; dest < kProcesses; ++dest) {
      for (int i = 0; i < 10; ++i) {
        auto rank_index = static_cast<std::size_t>(rank);
        sends.emplace_back(
            rank, value_of(world.engine(rank).isend(*contexts[rank_index], from(sent[rank_index]),
                                                    dest, i, SendMode::standard)));
      }
    }
  }
  for (int rank = 0; rank < kProcesses; ++rank) {
    for (int i = 0; i < 10 * kProcesses; ++i) {
      Data received(GetParam());
      Request* request = value_of(world.engine(rank).irecv(
          *contexts[static_cast<std::size_t>(rank)], into(received), kAnySource, kAnyTag));
      ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
      EXPECT_EQ(received, sent[static_cast<std::size_t>(request->outcome().source)]);
      world.engine(rank).release(request);
    }
  }
  ASSERT_TRUE(world.step_until([&] {
    return std::ranges::all_of(sends, [](auto& send) { return send.second->is_done(); });
  }));
  for (auto [rank, request] : sends) world.engine(rank).release(request);
}

INSTANTIATE_TEST_SUITE_P(Bytes, AllSendFirst, testing::Values(0, 8, 1024, 1025, 30'000));

}  // namespace
}  // namespace shim::p2p
