// SPDX-License-Identifier: BSD-3-Clause
// Tests several blocking threads on each engine. Most useful with ThreadSanitizer.
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

class Threads : public testing::TestWithParam<int> {
 protected:
  /// Run body(rank, thread) in GetParam() threads for each process.
  template <typename Body>
  void run(World& world, const Body& body) {
    world.run([&](int rank) {
      std::vector<std::thread> threads;
      for (int thread = 0; thread < GetParam(); ++thread)
        threads.emplace_back([&body, rank, thread] { body(rank, thread); });
      for (auto& thread : threads) thread.join();
    });
  }
};

constexpr std::size_t kSizes[] = {0, 8, 1000, 2000, 40'000};

TEST_P(Threads, ExchangeMessagesOnSeparateTags) {
  World world{{.processes = 2}};
  auto contexts = world.contexts();
  run(world, [&](int rank, int thread) {
    Context& context = *contexts[static_cast<std::size_t>(rank)];
    for (std::uint32_t generation = 0; generation < 60; ++generation) {
      std::size_t bytes = kSizes[generation % std::size(kSizes)];
      Data sent = pattern(bytes, generation + static_cast<std::uint32_t>(thread)), received(bytes);
      auto send = [&](SendMode mode) {
        ASSERT_TRUE(world.engine(rank).send(context, from(sent), 1 - rank, thread, mode));
      };
      if (rank == 0) send(SendMode::standard);
      value_of(world.engine(rank).recv(context, into(received), 1 - rank, thread));
      if (rank == 1) send(SendMode::synchronous);
      ASSERT_EQ(received, sent);
    }
  });
}

TEST_P(Threads, OfOneProcessExchangeMessages) {
  World world{{.processes = 1}};
  auto contexts = world.contexts();
  int threads = GetParam();
  run(world, [&](int, int thread) {
    Engine& engine = world.engine(0);
    int next = (thread + 1) % threads;
    for (std::uint32_t generation = 0; generation < 40; ++generation) {
      std::size_t bytes = kSizes[generation % std::size(kSizes)];
      Data sent = pattern(bytes, generation), received(bytes);
      Request* send = value_of(engine.isend(*contexts[0], from(sent), 0, next, SendMode::standard));
      value_of(engine.recv(*contexts[0], into(received), 0, thread));
      ASSERT_EQ(received, sent);
      ASSERT_TRUE(engine.wait(*send));
      engine.release(send);
    }
  });
}

TEST_P(Threads, AnySourceReceivesShareTheWork) {
  constexpr int kMessages = 100;
  World world{{.processes = 3}};
  auto contexts = world.contexts();
  std::atomic<int> sum{0}, expected{0};
  run(world, [&](int rank, int thread) {
    Context& context = *contexts[static_cast<std::size_t>(rank)];
    for (int i = 0; i < kMessages; ++i) {
      int value = 1000 * rank + 10 * thread + i;
      if (rank != 0) {
        expected += value;
        ASSERT_TRUE(
            world.engine(rank).send(context, {&value, 4, &kByte}, 0, 1, SendMode::standard));
      } else {
        for (int from = 1; from < 3; ++from) {
          value_of(world.engine(0).recv(context, {&value, 4, &kByte}, kAnySource, kAnyTag));
          sum += value;
        }
      }
    }
  });
  EXPECT_EQ(sum, expected);
}

TEST_P(Threads, MatchedProbesReturnEachMessageOnce) {
  constexpr int kMessages = 60;
  World world{{.processes = 2}};
  auto contexts = world.contexts();
  std::atomic<int> sum{0}, expected{0};
  run(world, [&](int rank, int thread) {
    Context& context = *contexts[static_cast<std::size_t>(rank)];
    for (int i = 0; i < kMessages; ++i) {
      std::vector<int> value(i % 2 == 0 ? 1 : 1000, 100 * thread + i);
      if (rank == 0) {
        expected += value[0];
        ASSERT_TRUE(world.engine(0).send(context, {value.data(), 4 * value.size(), &kByte}, 1, 1,
                                         SendMode::standard));
      } else {
        auto matched = value_of(world.engine(1).mprobe(context, kAnySource, kAnyTag));
        value.resize(matched.outcome.bytes / 4);
        value_of(
            world.engine(1).mrecv(matched.message, {value.data(), matched.outcome.bytes, &kByte}));
        ASSERT_EQ(value.front(), value.back());
        sum += value[0];
      }
    }
  });
  EXPECT_EQ(sum, expected);
}

TEST_P(Threads, ContextsAreCreatedAndFreed) {
  World world{{.processes = 2}};
  run(world, [&](int rank, int thread) {
    for (std::uint32_t generation = 0; generation < 30; ++generation) {
      ContextPtr own = world.context(
          rank, {}, 1000 * static_cast<std::uint32_t>(thread + 1) + 10 * generation);
      Data sent = pattern(generation * 100, generation), received(generation * 100);
      Request* send = value_of(
          world.engine(rank).isend(*own, from(sent), 1 - rank, 0, SendMode::standard));
      value_of(world.engine(rank).recv(*own, into(received), 1 - rank, 0));
      ASSERT_EQ(received, sent);
      ASSERT_TRUE(world.engine(rank).wait(*send));
      world.engine(rank).release(send);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Number, Threads, testing::Values(1, 2, 4));

}  // namespace
}  // namespace shim::p2p
