// SPDX-License-Identifier: BSD-3-Clause
// Tests messages of datatypes with holes: the packets have only the data, and a receive does not
// write into the holes of its buffer.
#include "shim/types/type_constructors.hpp"
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

const types::Type& pair_type() { return *types::find_predefined("MPI_DOUBLE_INT"); }

struct DoubleInt {
  double value = -1;
  std::int32_t index = -1;
  std::int32_t hole = 0x5eed;
  bool operator==(const DoubleInt&) const = default;
};
static_assert(sizeof(DoubleInt) == 16);
using DoubleInts = std::vector<DoubleInt>;

DoubleInts sent(std::size_t count, int first = 0) {
  DoubleInts items(count);
  for (std::size_t i = 0; i < count; ++i) {
    int n = first + static_cast<int>(i);
    items[i] = {n / 8.0, 3 * n, 0xbad};
  }
  return items;
}
// Return the buffer of `room` items after the receipt of `count` items.
DoubleInts received(std::size_t count, std::size_t buffer, int first = 0) {
  DoubleInts items = sent(count, first);
  for (DoubleInt& item : items) item.hole = DoubleInt().hole;
  items.resize(buffer);
  return items;
}
types::ConstBuffer from(const DoubleInts& items) {
  return {items.data(), items.size(), &pair_type()};
}
types::Buffer into(DoubleInts& items) { return {items.data(), items.size(), &pair_type()}; }

struct Case {
  std::size_t count;
  bool receive_first;
  transport::LoopFaults::Reads reads;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.count << (one.receive_first ? " posted" : " unexpected") << ", reads "
       << static_cast<int>(one.reads);
}

class HolesOfAMessage : public testing::TestWithParam<Case> {};
using Reads = transport::LoopFaults::Reads;
INSTANTIATE_TEST_SUITE_P(Lengths, HolesOfAMessage,
                         testing::Values(Case{0, true, Reads::work}, Case{1, true, Reads::work},
                                         Case{1, false, Reads::work}, Case{50, false, Reads::work},
                                         Case{5000, true, Reads::work},
                                         Case{5000, false, Reads::work},
                                         Case{5000, true, Reads::unsupported},
                                         Case{5000, false, Reads::unsupported}));

TEST_P(HolesOfAMessage, AreNotWritten) {
  auto [count, receive_first, reads] = GetParam();
  for (SendMode mode : {SendMode::standard, SendMode::synchronous}) {
    World world({.faults = {.again_chance = 0.2, .reads = reads, .max_packet_bytes = 4099}});
    auto contexts = world.contexts();
    const DoubleInts data = sent(count);
    DoubleInts buffer(count + 3);
    Request* receive = nullptr;
    if (receive_first) receive = value_of(world.engine(1).irecv(*contexts[1], into(buffer), 0, 7));
    Request* send = value_of(world.engine(0).isend(*contexts[0], from(data), 1, 7, mode));
    for (int i = 0; i < 10; ++i) world.step();
    if (!receive_first) receive = value_of(world.engine(1).irecv(*contexts[1], into(buffer), 0, 7));
    ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
    EXPECT_EQ(receive->error(), nullptr);
    EXPECT_EQ(receive->outcome().bytes, count * 12);
    EXPECT_EQ(buffer, received(count, count + 3));
    world.engine(0).release(send);
    world.engine(1).release(receive);
  }
}

TEST(Holes, AreNotWrittenByBlockingCopiedAndBytewiseMessages) {
  World world({});
  auto contexts = world.contexts();
  world.run([&](int rank) {
    Engine& engine = world.engine(rank);
    Context& context = *contexts[static_cast<std::size_t>(rank)];
    if (rank == 0) {
      ASSERT_TRUE(engine.send(context, from(sent(10)), 1, 1, SendMode::standard));
      ASSERT_TRUE(engine.send(context, from(sent(3000)), 1, 2, SendMode::standard));
      Request* copied = value_of(engine.isend_copied(context, from(sent(3000, 5)), 1, 3));
      ASSERT_TRUE(engine.wait(*copied));
      engine.release(copied);
      ASSERT_TRUE(engine.send(context, from(sent(2)), 1, 4, SendMode::standard));
    } else {
      DoubleInts few(10), many(3000);
      ASSERT_TRUE(engine.recv(context, into(few), 0, 1));
      EXPECT_EQ(few, received(10, 10));
      ASSERT_TRUE(engine.recv(context, into(many), 0, 2));
      EXPECT_EQ(many, received(3000, 3000));
      ASSERT_TRUE(engine.recv(context, into(many), 0, 3));
      EXPECT_EQ(many, received(3000, 3000, 5));
      Data bytes(24);
      ASSERT_TRUE(engine.recv(context, {bytes.data(), bytes.size(), &kByte}, 0, 4));
      DoubleInts unpacked(2);
      types::unpack(pair_type(), std::as_bytes(std::span(bytes)), 0, unpacked.data());
      EXPECT_EQ(unpacked, received(2, 2));
    }
  });
}

TEST(Holes, AreNotWrittenByPersistentSends) {
  World world({});
  auto contexts = world.contexts();
  DoubleInts data(300), buffer(300);
  Request* send = value_of(
      world.engine(0).send_init(*contexts[0], from(data), 1, 0, SendMode::standard));
  Request* receive = value_of(world.engine(1).recv_init(*contexts[1], into(buffer), 0, 0));
  for (int round = 0; round < 3; ++round) {
    std::ranges::copy(sent(300, round), data.begin());
    ASSERT_TRUE(world.engine(0).start(*send));
    ASSERT_TRUE(world.engine(1).start(*receive));
    ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
    EXPECT_EQ(buffer, received(300, 300, round));
    world.engine(0).deactivate(*send);
    world.engine(1).deactivate(*receive);
  }
  world.engine(0).release(send);
  world.engine(1).release(receive);
}

TEST(Holes, AreNotWrittenByTruncatedMessages) {
  for (std::size_t count : {4u, 3000u}) {
    World world({});
    auto contexts = world.contexts();
    DoubleInts data = sent(count), buffer(count - 1);
    Request* send = value_of(
        world.engine(0).isend(*contexts[0], from(data), 1, 0, SendMode::standard));
    Request* receive = value_of(world.engine(1).irecv(*contexts[1], into(buffer), 0, 0));
    ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
    ASSERT_NE(receive->error(), nullptr);
    EXPECT_EQ(receive->error()->error_class(), base::ErrorClass::truncate);
    EXPECT_EQ(buffer, received(count - 1, count - 1));
    world.engine(0).release(send);
    world.engine(1).release(receive);
  }
}

class LongRuns : public testing::TestWithParam<Reads> {};
INSTANTIATE_TEST_SUITE_P(Reads, LongRuns,
                         testing::Values(Reads::work, Reads::unsupported, Reads::fail,
                                         Reads::offered));

/// More runs than one read accepts, with run lengths that do not divide the length of a read.
TEST_P(LongRuns, AreReadWithoutPacking) {
  constexpr std::size_t kRun = 2500, kStride = 2700, kRuns = 60, kItems = 3;
  const auto column = types::share(value_of(types::vector(kRuns, kRun, kStride, kByte)));
  const std::size_t item = static_cast<std::size_t>(column->extent);
  World world({.faults = {.reads = GetParam()}});
  auto contexts = world.contexts();
  const Data data = pattern(kItems * kRuns * kRun, 7);
  Data buffer(kItems * item, 0x55), expected = buffer;
  for (std::size_t i = 0; i < kItems * kRuns; ++i)
    std::memcpy(expected.data() + i / kRuns * item + i % kRuns * kStride, data.data() + i * kRun,
                kRun);
  Request* receive = value_of(
      world.engine(1).irecv(*contexts[1], {buffer.data(), kItems, column.get()}, 0, 7));
  Request* send = value_of(world.engine(0).isend(*contexts[0], {data.data(), data.size(), &kByte},
                                                 1, 7, SendMode::standard));
  ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
  EXPECT_EQ(receive->error(), nullptr);
  EXPECT_EQ(receive->outcome().bytes, data.size());
  EXPECT_EQ(buffer, expected);
  EXPECT_EQ(world.engine(1).counts().single_copies, GetParam() == Reads::work ? 1u : 0u);
  Engine::release(send);
  Engine::release(receive);
}

/// An empty buffer receives a long message, and a receive gets an announced message without data.
TEST_P(LongRuns, MayHaveNoDataOrNoBuffer) {
  const auto column = types::share(value_of(types::vector(3, 2500, 2700, kByte)));
  World::Options options{.faults = {.reads = GetParam()}};
  options.settings.unexpected_bytes = 0;
  World world(options);
  auto contexts = world.contexts();
  Data buffer(3 * 2700), data = pattern(50'000, 3);
  for (const std::size_t bytes : {std::size_t{0}, data.size(), std::size_t{0}}) {
    Request* send = value_of(world.engine(0).isend(*contexts[0], {data.data(), bytes, &kByte}, 1, 7,
                                                   SendMode::standard));
    for (int i = 0; i < 10; ++i) world.step();
    Request* receive = value_of(world.engine(1).irecv(
        *contexts[1], {buffer.data(), bytes == 0 ? 1u : 0u, column.get()}, 0, 7));
    ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
    EXPECT_EQ(receive->error() != nullptr, bytes != 0) << "only the long message is truncated";
    EXPECT_EQ(receive->outcome().bytes, 0u);
    Engine::release(send);
    Engine::release(receive);
  }
}

/// A few long runs, followed by many short ones; the message is longer than the buffer.
TEST_P(LongRuns, MayBeFollowedByShortRuns) {
  const auto longs = types::share(value_of(types::vector(20, 4000, 4096, kByte))),
             shorts = types::share(value_of(types::vector(2000, 8, 16, kByte)));
  const types::Member members[] = {{0, 1, longs.get()}, {90'000, 1, shorts.get()}};
  const auto both = types::share(value_of(types::structure(members)));
  World world({.faults = {.again_chance = 0.2, .reads = GetParam()}});
  auto contexts = world.contexts();
  const Data data = pattern(both->size + 1000, 5);
  Data buffer(static_cast<std::size_t>(both->extent), 0x55), expected = buffer;
  types::unpack(*both, std::as_bytes(std::span(data)).first(both->size), 0, expected.data());
  Request* receive = value_of(
      world.engine(1).irecv(*contexts[1], {buffer.data(), 1, both.get()}, 0, 7));
  Request* send = value_of(world.engine(0).isend(*contexts[0], {data.data(), data.size(), &kByte},
                                                 1, 7, SendMode::standard));
  ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
  ASSERT_NE(receive->error(), nullptr);
  EXPECT_EQ(receive->error()->error_class(), base::ErrorClass::truncate);
  EXPECT_EQ(buffer, expected);
  Engine::release(send);
  Engine::release(receive);
}

/// A type with a hole at its start: one item of it is one contiguous run.
TEST(Holes, DoNotPreventOneReadOfAContiguousRun) {
  const types::ItemBlock block[] = {{24, 9000}};
  const auto shifted = types::share(value_of(types::indexed(block, kByte)));
  World world({});
  auto contexts = world.contexts();
  Data data = pattern(24 + 9000, 5), buffer(24 + 9000, 0x55), expected = buffer;
  std::ranges::copy(std::span(data).subspan(24), expected.begin() + 24);
  Request* receive = value_of(
      world.engine(1).irecv(*contexts[1], {buffer.data(), 1, shifted.get()}, 0, 7));
  Request* send = value_of(world.engine(0).isend(*contexts[0], {data.data(), 1, shifted.get()}, 1,
                                                 7, SendMode::standard));
  ASSERT_TRUE(world.step_until([&] { return send->is_done() && receive->is_done(); }));
  EXPECT_EQ(buffer, expected);
  EXPECT_EQ(world.engine(1).counts().single_copies, 1u);
  Engine::release(send);
  Engine::release(receive);
}

}  // namespace
}  // namespace shim::p2p
