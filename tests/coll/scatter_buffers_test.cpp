// SPDX-License-Identifier: BSD-3-Clause
// Tests collectives on scatter buffers, used if the members' data for each other exceed a medium
// buffer.
#include <algorithm>
#include <random>
#include <thread>

#include "shim/types/type_constructors.hpp"
#include "tests/coll/shm_collective_rig.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;
using node::kMediumBufferBytes;
using node::kScatterBufferBytes;

/// Return the block of `from` for `to` in one round.
Items block_of(int from, int to, int round, std::uint64_t count) {
  return values(10'000 * round + 100 * from + to, count);
}

Items blocks_from(int from, int size, int round, std::uint64_t count) {
  Items all;
  for (int to = 0; to < size; ++to) {
    const Items block = block_of(from, to, round, count);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

void expect_blocks_for(int to, const Items& got, int size, int round, std::uint64_t count) {
  for (int from = 0; from < size; ++from) {
    const auto first = got.begin() + static_cast<std::ptrdiff_t>(n(from) * count);
    ASSERT_EQ(Items(first, first + static_cast<std::ptrdiff_t>(count)),
              block_of(from, to, round, count))
        << "from " << from << ", round " << round;
  }
}

void alltoall_once(Comm& comm, int round, std::uint64_t count, bool in_place) {
  const int rank = comm.rank(), size = comm.size();
  Items given = blocks_from(rank, size, round, count),
        got = in_place ? given : untouched(count * n(size));
  ASSERT_TRUE(run(
      comm, alltoall(CollSeq::blocking(comm),
                     in_place ? kInPlace : types::ConstBuffer{given.data(), count, &int64_type()},
                     {got.data(), count, &int64_type()})));
  expect_blocks_for(rank, got, size, round, count);
}

void alltoallv_once(Comm& comm, int round, std::uint64_t count) {
  const int rank = comm.rank(), size = comm.size();
  const Items given = blocks_from(rank, size, round, count);
  Items got = untouched(count * n(size));
  std::vector<std::int64_t> counts(n(size), static_cast<std::int64_t>(count)), offsets;
  for (int i = 0; i < size; ++i) offsets.push_back(i * static_cast<std::int64_t>(count));
  ASSERT_TRUE(run(comm, alltoallv(CollSeq::blocking(comm), given.data(), {counts, offsets},
                                  &int64_type(), got.data(), {counts, offsets}, int64_type())));
  expect_blocks_for(rank, got, size, round, count);
}

/// Return block lengths, in items, around the capacities of a medium buffer and of a scatter buffer
/// for blocks of equal length. For alltoallv the capacity is slightly lower.
std::vector<std::uint64_t> counts_around_limits(int size) {
  const std::uint64_t others = n(size - 1), medium = kMediumBufferBytes / 8 / others,
                      scatter = kScatterBufferBytes / 8 / others;
  return {medium, medium + 1, 128, scatter - 9, scatter, scatter + 1};
}

TEST(ScatterBuffers, AlltoallWorksWithEveryLength) {
  for (int size : {3, 5, 16}) {
    on_segment_members(size, [size](Comm& comm) {
      std::mt19937 random(static_cast<unsigned>(comm.rank()));
      int round = 0;
      for (std::uint64_t count : counts_around_limits(size))
        for (int repetition = 0; repetition < 5; ++repetition) {
          if (random() % 4 == 0) std::this_thread::yield();
          alltoall_once(comm, ++round, count, repetition % 2 == 1);
          alltoallv_once(comm, ++round, count);
        }
    });
  }
}

TEST(ScatterBuffers, WorkWithTypesWithHoles) {
  on_segment_members(3, [](Comm& comm) {
    constexpr std::uint64_t kItems = 500;
    const types::Type every_second = p2p::value_of(types::vector(kItems, 1, 16, int64_type()));
    const auto stride = static_cast<std::size_t>(every_second.extent) / 8;
    Items sparse = untouched(3 * stride + 1), got = untouched(3 * kItems);
    for (int to = 0; to < 3; ++to) {
      const Items block = block_of(comm.rank(), to, 1, kItems);
      for (std::size_t i = 0; i < kItems; ++i) sparse[n(to) * stride + 2 * i] = block[i];
    }
    ASSERT_TRUE(run(comm, alltoall(CollSeq::blocking(comm), {sparse.data(), 1, &every_second},
                                   {got.data(), kItems, &int64_type()})));
    expect_blocks_for(comm.rank(), got, 3, 1, kItems);
  });
}

TEST(ScatterBuffers, FallBackToMessagesWithoutMemory) {
  for (int poor : {0, 2}) {
    on_members_of_node(4, true, [poor](Comm& comm, p2p::World&, NodeLocality& locality) {
      if (comm.rank() == poor) locality.refuse_memory();
      for (int round = 0; round < 6; ++round) {
        alltoall_once(comm, round, 200, round % 2 == 1);
        alltoallv_once(comm, 10 + round, 200);
      }
    });
  }
}

// Each member sends only to the next and receives only from the previous member, so no member knows
// when its reader has completed. Member 1 is slow between publishing its buffer and reading,
// because it copies much data to itself.
TEST(ScatterBuffers, AreNotOverwrittenWhileBeingRead) {
  constexpr int kRounds = 100;
  constexpr std::uint64_t kItems = 1000, kOwn = 100'000;
  for (int size : {3, 4}) {
    on_segment_members(size, [size](Comm& comm) {
      const int rank = comm.rank(), next = (rank + 1) % size, before = (rank + size - 1) % size;
      const Items own = values(rank, kOwn);
      Items own_again = untouched(kOwn);
      for (int round = 0; round < kRounds; ++round) {
        const Items given = block_of(rank, next, round, kItems);
        Items got = untouched(kItems);
        std::vector<OutgoingBlock> out_to;
        std::vector<IncomingBlock> in_from;
        if (rank == 1) {
          out_to.push_back({out(own), rank});
          in_from.push_back({in(own_again), rank});
        }
        out_to.push_back({out(given), next});
        in_from.push_back({in(got), before});
        ASSERT_TRUE(run(comm, exchange(CollSeq::blocking(comm), out_to, in_from)));
        ASSERT_EQ(got, block_of(before, rank, round, kItems)) << round;
      }
    });
  }
}

// Members that know of the failure send nothing more; waiting members must learn of the failure,
// too.
TEST(ScatterBuffers, MemberDeathEndsAllWaits) {
  struct Case {
    int dead, poor;  // member without memory for scatter buffers
  };
  for (const Case& c : {Case{0, 1}, Case{0, 3}, Case{2, 1}, Case{3, 0}}) {
    on_members_of_node(4, true, [&](Comm& comm, p2p::World& world, NodeLocality& locality) {
      if (comm.rank() == c.poor) locality.refuse_memory();
      ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
      if (comm.rank() == c.dead) return world.kill(c.dead);
      Items given = values(comm.rank(), 800), got = untouched(800);
      const auto done = run(comm,
                            alltoall(CollSeq::blocking(comm), {given.data(), 200, &int64_type()},
                                     {got.data(), 200, &int64_type()}));
      ASSERT_FALSE(done) << comm.rank();
      EXPECT_EQ(done.error().error_class(), ErrorClass::proc_aborted) << done.error().text();
    });
  }
}

TEST(ScatterBuffers, LengthMismatchIsReportedWithoutHang) {
  // one member's length: in a medium buffer, in a scatter buffer, or longer
  struct Case {
    int usual, other;
    std::vector<int> poor;  // members without memory for scatter buffers
  };
  for (const Case& c : {Case{200, 250, {}}, Case{200, 4000, {}}, Case{4000, 200, {}},
                        Case{2, 200, {}}, Case{200, 2, {}}, Case{200, 4000, {0}},
                        Case{200, 4000, {0, 2}}, Case{200, 0, {0}}, Case{1000, 0, {0}}}) {
    SCOPED_TRACE(std::to_string(c.usual) + " items, at one member " + std::to_string(c.other));
    on_members_of_node(3, true, [&](Comm& comm, p2p::World&, NodeLocality& locality) {
      const auto& [usual, other, poor] = c;
      if (std::ranges::count(poor, comm.rank()) > 0) locality.refuse_memory();
      const auto count = static_cast<std::uint64_t>(comm.rank() == 1 ? other : usual);
      Items given = values(comm.rank(), 3 * count), got = untouched(3 * count);
      const auto done = run(comm,
                            alltoall(CollSeq::blocking(comm), {given.data(), count, &int64_type()},
                                     {got.data(), count, &int64_type()}));
      ASSERT_FALSE(done) << comm.rank();
      EXPECT_EQ(done.error().error_class(), ErrorClass::truncate) << done.error().text();
    });
  }
}

}  // namespace
}  // namespace shim::coll
