// SPDX-License-Identifier: BSD-3-Clause
// Tests inline collectives: blocking calls on short data, which complete in the call. One thread a
// member.
#include "shim/coll/inline_collective.hpp"

#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

/// Run body(comm) for each member in its own thread.
template <typename Body>
void on_all(int size, const Body& body, std::uint64_t eager = p2p::World::quick().eager_shm) {
  base::Settings settings = p2p::World::quick();
  settings.eager_shm = eager;
  p2p::World world({.processes = size, .settings = settings});
  auto contexts = world.contexts();
  world.run([&](int rank) {
    Comm comm(world.engine(rank), *contexts[static_cast<std::size_t>(rank)],
              std::make_shared<ScratchPool>(), rank, size);
    body(comm);
  });
}

template <typename Body>
base::Status run_on(Comm& comm, const Body& body) {
  const CollSeq seq = CollSeq::blocking(comm);
  Task task = run_inline_collective(seq, call_on(seq), body);
  EXPECT_TRUE(task.is_over());
  return run(comm, std::move(task));
}

/// Run `body` for several sizes and roots, with empty data and with data of up to 31 items.
template <typename Body>
void for_each_case(const Body& body, std::uint64_t eager = p2p::World::quick().eager_shm) {
  for (int size : {1, 2, 3, 4, 5, 8, 11}) {
    on_all(
        size,
        [&](Comm& comm) {
          for (int root : {0, size - 1})
            for (std::uint64_t count : {0, 1, 31}) body(comm, root, count);
        },
        eager);
  }
}

void expect_correct_results(Comm& comm, int root, std::uint64_t count) {
  const int rank = comm.rank(), size = comm.size();
  const auto all_items = count * static_cast<std::uint64_t>(size);
  const Items own = values(rank, count);

  ASSERT_TRUE(run_on(comm, barrier_linear_inline));
  ASSERT_TRUE(run_on(comm, barrier_inline));
  Items data = rank == root ? values(root, count) : untouched(count);
  ASSERT_TRUE(run_on(
      comm, [&](InlineCollective& collective) { bcast_inline(collective, in(data), root); }));
  ASSERT_EQ(data, values(root, count));

  Items gathered = untouched(all_items);
  ASSERT_TRUE(run_on(comm, [&](InlineCollective& collective) {
    gather_inline(collective, out(own), {gathered.data(), &int64_type(), nullptr, count}, root);
  }));
  Items up_tree = untouched(all_items);
  ASSERT_TRUE(run_on(comm, [&](InlineCollective& collective) {
    gather_tree_inline(collective, out(own), {up_tree.data(), &int64_type(), nullptr, count}, root);
  }));
  ASSERT_EQ(up_tree, gathered);
  Items expected = untouched(0);
  for (int from = 0; from < size; ++from)
    for (std::int64_t value : values(from, count)) expected.push_back(value);
  ASSERT_EQ(gathered, rank == root ? expected : untouched(all_items));

  Items everywhere = untouched(all_items);
  ASSERT_TRUE(run_on(comm, [&](InlineCollective& collective) {
    allgather_inline(collective, out(own), {everywhere.data(), &int64_type(), nullptr, count});
  }));
  ASSERT_EQ(everywhere, expected);
  Items scattered = untouched(count);
  ASSERT_TRUE(run_on(comm, [&](InlineCollective& collective) {
    scatter_inline(collective, {expected.data(), &int64_type(), nullptr, count}, in(scattered),
                   root);
  }));
  ASSERT_EQ(scattered, own);

  Items outgoing, incoming = untouched(all_items), exchanged;
  for (int to = 0; to < size; ++to)
    for (std::int64_t value : values(rank * size + to, count)) outgoing.push_back(value);
  for (int from = 0; from < size; ++from)
    for (std::int64_t value : values(from * size + rank, count)) exchanged.push_back(value);
  ASSERT_TRUE(run_on(comm, [&](InlineCollective& collective) {
    alltoall_inline(collective, {outgoing.data(), &int64_type(), nullptr, count},
                    {incoming.data(), &int64_type(), nullptr, count});
  }));
  ASSERT_EQ(incoming, exchanged);
}

TEST(InlineCollective, MovesData) { for_each_case(expect_correct_results); }

TEST(InlineCollective, MovesDataWithoutEagerMessages) { for_each_case(expect_correct_results, 0); }

TEST(InlineCollective, WorksWithGapsBetweenBlocks) {
  for (int size : {2, 5, 16}) {
    on_all(size, [&](Comm& comm) {
      std::vector<std::int64_t> counts, displacements;
      for (int rank = 0; rank < size; ++rank)
        counts.push_back(rank % 3), displacements.push_back(3 * (size - rank));
      const auto mine = static_cast<std::uint64_t>(comm.rank() % 3);
      Items own = values(comm.rank(), mine),
            all = untouched(static_cast<std::uint64_t>(3 * size + 3)), back = untouched(mine);
      const Blocks blocks{counts, displacements};
      ASSERT_TRUE(run(
          comm, gatherv(CollSeq::blocking(comm), out(own), all.data(), blocks, &int64_type(), 1)));
      for (int rank = 0; rank < size && comm.rank() == 1; ++rank) {
        Items block(all.begin() + displacements[static_cast<std::size_t>(rank)],
                    all.begin() + displacements[static_cast<std::size_t>(rank)] + 3);
        Items expected = values(rank, static_cast<std::uint64_t>(rank % 3));
        expected.resize(3, -1);
        ASSERT_EQ(block, expected);
      }
      Items everywhere = untouched(all.size());
      ASSERT_TRUE(run(comm, allgatherv(CollSeq::blocking(comm), out(own), everywhere.data(), blocks,
                                       int64_type())));
      if (comm.rank() == 1) {
        ASSERT_EQ(everywhere, all);
      }
      ASSERT_TRUE(run(
          comm, scatterv(CollSeq::blocking(comm), all.data(), blocks, &int64_type(), in(back), 1)));
      ASSERT_EQ(back, own);
    });
  }
}

/// Also with a non-commutative operation, in place and with separate buffers.
TEST(InlineCollective, CombinesInTheOrderOfRanks) {
  for_each_case([](Comm& comm, int root, std::uint64_t count) {
    const Operands operands{&affine_type(), &compose(), count};
    const int rank = comm.rank(), last = comm.size() - 1;
    for (bool in_place : {false, true}) {
      const Maps own = maps(rank, count);
      auto check = [&](auto algorithm, bool has_result, const Maps& expected) {
        Maps send = own, result = in_place ? own : Maps(count);
        void* target = has_result ? result.data() : nullptr;
        const void* from = in_place && has_result ? target : send.data();
        ASSERT_TRUE(run_on(
            comm, [&](InlineCollective& collective) { algorithm(collective, from, target); }));
        if (has_result) {
          ASSERT_EQ(result, expected);
        }
        ASSERT_EQ(send, own);
      };
      check([&](InlineCollective& collective, const void* from,
                void* to) { reduce_inline(collective, operands, from, to, root); },
            rank == root, composed(0, last, count));
      if ((comm.size() & last) == 0)
        check([&](InlineCollective& collective, const void* from,
                  void* to) { allreduce_inline(collective, operands, from, to); },
              true, composed(0, last, count));
      check([&](InlineCollective& collective, const void* from,
                void* to) { scan_inline(collective, operands, from, to); },
            true, composed(0, rank, count));
      check([&](InlineCollective& collective, const void* from,
                void* to) { exscan_inline(collective, operands, from, to); },
            true,
            rank > 0   ? composed(0, rank - 1, count)
            : in_place ? own
                       : Maps(count));
    }
  });
}

TEST(InlineCollective, ReduceScatterWorksWithTwoMembers) {
  for (std::int64_t to_first : {0, 3, 7}) {
    on_all(2, [&](Comm& comm) {
      const std::vector<std::int64_t> counts = {to_first, 7 - to_first};
      const auto rank = static_cast<std::size_t>(comm.rank());
      for (bool in_place : {false, true}) {
        Maps own = maps(comm.rank(), 7), result(7);
        const Maps both = composed(0, 1, 7), before = own;
        void* target = in_place ? own.data() : result.data();
        ASSERT_TRUE(run_on(comm, [&](InlineCollective& collective) {
          reduce_scatter_inline(collective, {&affine_type(), &compose(), 7}, own.data(), target,
                                counts);
        }));
        const Maps part(both.begin() + (rank == 0 ? 0 : to_first),
                        both.begin() + (rank == 0 ? to_first : 7));
        const Maps& got = in_place ? own : result;
        ASSERT_EQ(Maps(got.begin(), got.begin() + counts[rank]), part);
        if (!in_place) {
          ASSERT_EQ(own, before);
        }
      }
    });
  }
}

TEST(InlineCollective, LengthMismatchDoesNotHang) {
  on_all(4, [](Comm& comm) {
    Items own = values(comm.rank(), 4), result = untouched(4);
    const std::uint64_t count = comm.rank() == 1 ? 2 : 4;
    auto scanned = run(
        comm, scan(CollSeq::blocking(comm), {own.data(), count, &int64_type()}, result.data(),
                   count, int64_type(), types::predefined(types::Operator::sum)));
    EXPECT_EQ(scanned.has_value(), comm.rank() == 0)
        << "ranks after the mismatching member must get an error";
    auto sent = run(comm, bcast(CollSeq::blocking(comm), {result.data(), count, &int64_type()}, 0));
    EXPECT_EQ(sent.has_value(), comm.rank() != 1) << comm.rank();
    ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
  });
}

TEST(InlineCollective, ReceiveBlockLongerThanTheMessageIsReported) {
  on_all(9, [](Comm& comm) {
    Items own = values(comm.rank(), 32), all = untouched(9 * 40);
    auto gathered = run(
        comm, gather(CollSeq::blocking(comm), out(own), {all.data(), 40, &int64_type()}, 0));
    EXPECT_EQ(gathered.has_value(), comm.rank() != 0);
    ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
  });
}

TEST(InlineCollective, WorksWithOneMember) {
  on_all(1, [](Comm& comm) {
    const std::vector<std::int64_t> counts = {3}, displacements = {0};
    const types::Op& sum = types::predefined(types::Operator::sum);
    Items own = values(0, 3), all = untouched(3), reduced = untouched(3), scattered = untouched(3);
    ASSERT_TRUE(run(comm, allgatherv(CollSeq::blocking(comm), out(own), all.data(),
                                     {counts, displacements}, int64_type())));
    ASSERT_TRUE(run(
        comm, allreduce(CollSeq::blocking(comm), out(own), reduced.data(), 3, int64_type(), sum)));
    ASSERT_TRUE(run(comm, reduce_scatter_block(CollSeq::blocking(comm), out(own), scattered.data(),
                                               3, int64_type(), sum)));
    ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
    for (const Items* got : {&all, &reduced, &scattered}) ASSERT_EQ(*got, own);
  });
}

TEST(InlineCollective, AppliesOnlyToBlockingCallsOnShortData) {
  on_all(2, [](Comm& comm) {
    Items few = values(0, 2), many = values(0, 1000);
    Task blocking = bcast(CollSeq::blocking(comm), in(few), 0);
    EXPECT_TRUE(blocking.is_over());
    Task long_data = bcast(CollSeq::blocking(comm), in(many), 0),
         non_blocking = bcast(comm, in(few), 0);
    EXPECT_FALSE(long_data.is_over() || non_blocking.is_over());
    EXPECT_TRUE(run(comm, std::move(long_data)));
    EXPECT_TRUE(run(comm, std::move(non_blocking)));
  });
}

}  // namespace
}  // namespace shim::coll
