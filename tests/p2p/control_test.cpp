// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <mutex>
#include <span>

#include "shim/p2p/wire.hpp"
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

std::vector<std::byte> bytes_of(const Data& data) {
  auto bytes = std::as_bytes(std::span(data));
  return {bytes.begin(), bytes.end()};
}
Data data_of(std::span<const std::byte> bytes) {
  Data data(bytes.size());
  if (!bytes.empty()) std::memcpy(data.data(), bytes.data(), bytes.size());
  return data;
}

TEST(Control, MessagesOfAnyLengthArriveCompleteAndInOrder) {
  World world{{.processes = 3,
               .faults = {.seed = 2,
                          .again_chance = 0.3,
                          .max_delay = 3,
                          .queue_limit = 3,
                          .max_packet_bytes = 4096}}};
  std::map<std::uint32_t, std::vector<Data>> got;
  world.engine(0).set_control_handler([&](base::ProcessId from, std::span<const std::byte> bytes) {
    got[from.rank].push_back(data_of(bytes));
  });
  std::vector<Data> sent;
  for (std::size_t bytes : {0u, 1u, 4064u, 4065u, 100'000u, 5u, 1'000'000u, 0u, 7u}) {
    sent.push_back(pattern(bytes, static_cast<std::uint32_t>(bytes)));
  }
  for (int from : {1, 2, 0}) {
    for (const Data& data : sent)
      ASSERT_TRUE(world.engine(from).send_control({0, 0}, bytes_of(data)));
  }
  ASSERT_TRUE(world.step_until([&] {
    return got.size() == 3 &&
           std::ranges::all_of(got, [&](auto& each) { return each.second.size() == sent.size(); });
  }));
  for (auto& [from, messages] : got) EXPECT_EQ(messages, sent) << "from " << from;
}

TEST(Control, DropsUnfinishedMessagesOfAnEarlierIncarnation) {
  World world{{.processes = 1}};
  std::vector<std::size_t> got;
  world.engine(0).set_control_handler(
      [&](base::ProcessId, std::span<const std::byte> bytes) { got.push_back(bytes.size()); });
  auto stranger = world.network().add();
  auto link = stranger->open(world.address(0));
  ASSERT_TRUE(link);
  const std::vector<std::byte> part(50);
  for (std::uint64_t total : {100u, 50u}) {
    wire::Control header;
    header.rank = 1;
    header.total = total;
    ASSERT_EQ(stranger->try_send(**link, wire::bytes_of(header), part), transport::Attempt::done);
  }
  ASSERT_TRUE(world.step_until([&] { return !got.empty(); }));
  EXPECT_EQ(got, std::vector<std::size_t>{50});
}

/// A process that finalizes handles all control messages received before: they are not sent again.
class ControlAtFinalize : public testing::Test {
 protected:
  void SetUp() override {
    world.engine(1).set_control_handler(
        [this](base::ProcessId, std::span<const std::byte> bytes) { got.push_back(bytes.size()); });
  }
  bool flush_receiver() { return world.engine(1).flush_all(base::Deadline::after_seconds(10)); }

  World world{{.processes = 2, .faults = {.queue_limit = 3, .max_packet_bytes = 4096}}};
  std::vector<std::size_t> got;
};

TEST_F(ControlAtFinalize, HandlesAMessageThatAReceivePolled) {
  auto contexts = world.contexts();
  Data data = pattern(8, 1), received(8);
  ASSERT_TRUE(world.engine(0).send_control({0, 1}, bytes_of(Data(5))));
  ASSERT_TRUE(world.engine(0).send(*contexts[0], from(data), 1, 1, SendMode::standard));
  ASSERT_TRUE(world.engine(1).recv(*contexts[1], into(received), 0, 1));
  ASSERT_EQ(got.size(), 0u) << "test precondition: the receive must not run the handler";
  EXPECT_TRUE(flush_receiver());
  EXPECT_EQ(got, std::vector<std::size_t>{5});
}

TEST_F(ControlAtFinalize, WaitsForTheRestOfAPartialMessage) {
  ASSERT_TRUE(world.engine(0).send_control({0, 1}, bytes_of(Data(100'000))));
  ASSERT_TRUE(world.engine(1).progress());
  ASSERT_EQ(got.size(), 0u) << "test precondition: the message must arrive in parts";
  std::thread sender(
      [&] { EXPECT_TRUE(world.engine(0).flush(base::Deadline::after_seconds(10))); });
  EXPECT_TRUE(flush_receiver());
  EXPECT_EQ(got, std::vector<std::size_t>{100'000});
  sender.join();
}

TEST(Control, MessagesWaitForAHandler) {
  World world{{.processes = 2}};
  ASSERT_TRUE(world.engine(0).send_control({0, 1}, bytes_of({1, 2, 3})));
  for (int i = 0; i < 10; ++i) world.step();
  Data got;
  world.engine(1).set_control_handler(
      [&](base::ProcessId, std::span<const std::byte> bytes) { got = data_of(bytes); });
  ASSERT_TRUE(world.step_until([&] { return !got.empty(); }, 10));
  EXPECT_EQ(got, (Data{1, 2, 3}));
}

TEST(Control, HandlerMayReply) {
  World world{{.processes = 2}};
  int handled = 0;
  for (int rank : {0, 1}) {
    world.engine(rank).set_control_handler(
        [&world, &handled, rank](base::ProcessId from, std::span<const std::byte> bytes) {
          ++handled;
          if (bytes.size() > 1) {
            ASSERT_TRUE(world.engine(rank).send_control(from, {bytes.begin(), bytes.end() - 1}));
            ASSERT_TRUE(world.engine(rank).progress())
                << "progress() may be called from a handler; it then handles no messages";
          }
        });
  }
  ASSERT_TRUE(world.engine(0).send_control({0, 1}, bytes_of(Data(100))));
  EXPECT_TRUE(world.step_until([&] { return handled == 100; }));
  EXPECT_EQ(world.engine(0).counts().control_sent, 50u);
}

TEST(Control, OrderHoldsWithSeveralThreads) {
  constexpr std::uint8_t kMessages = 200;
  World world{{.processes = 3}};
  std::mutex mutex;
  std::map<std::uint32_t, Data> got;
  std::atomic<int> total{0};
  world.engine(0).set_control_handler([&](base::ProcessId from, std::span<const std::byte> bytes) {
    std::lock_guard lock(mutex);
    got[from.rank].push_back(static_cast<std::uint8_t>(bytes[0]));
    ++total;
  });
  auto arrived = [&] { return total == 2 * kMessages; };
  auto send = [&](int rank) {
    for (std::uint8_t i = 0; i < kMessages; ++i)
      ASSERT_TRUE(world.engine(rank).send_control({0, 0}, {std::byte{i}}));
    ASSERT_TRUE(world.engine(rank).wait_until(arrived));
  };
  auto receive = [&] { ASSERT_TRUE(world.engine(0).wait_until(arrived)); };
  std::vector<std::thread> threads;
  for (int rank : {1, 2}) threads.emplace_back(send, rank);
  for (int i = 0; i < 3; ++i) threads.emplace_back(receive);
  for (auto& thread : threads) thread.join();
  Data expected(kMessages);
  std::iota(expected.begin(), expected.end(), std::uint8_t{0});
  EXPECT_EQ(got[1], expected);
  EXPECT_EQ(got[2], expected);
}

TEST(Control, HandlerDoesNotRunAfterItsRemoval) {
  World world{{.processes = 2}};
  for (int generation = 0; generation < 50; ++generation) {
    auto counter = std::make_unique<int>(0);
    world.engine(1).set_control_handler(
        [&counter](base::ProcessId, std::span<const std::byte>) { ++*counter; });
    std::atomic<bool> stop{false};
    std::thread receiver([&] {
      while (!stop) ASSERT_TRUE(world.engine(1).progress());
    });
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(world.engine(0).send_control({0, 1}, bytes_of({1})));
    world.engine(1).set_control_handler({});
    counter.reset();
    stop = true;
    receiver.join();
  }
}

}  // namespace
}  // namespace shim::p2p
