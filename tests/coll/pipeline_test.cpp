// SPDX-License-Identifier: BSD-3-Clause
// Tests blocking collectives on data too long for an inline slot or a medium buffer of the
// collective segment, which use its broadcast ring.
#include <thread>

#include "shim/types/type_constructors.hpp"
#include "tests/coll/shm_collective_rig.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;

TEST(Pipeline, BroadcastsAllLengthsFromAllRoots) {
  for (int size : {2, 3, 5, 16}) {
    on_segment_members(size, [size](Comm& comm) {
      for (std::uint64_t count : kPipelineLengths) {
        for (int root : {0, 1, size - 1, 0, 0}) {
          Items data = comm.rank() == root ? values(root, count) : untouched(count);
          ASSERT_TRUE(run(comm, bcast(CollSeq::blocking(comm), in(data), root)));
          ASSERT_EQ(data, values(root, count)) << count << " items from " << root;
        }
      }
      ASSERT_EQ(comm.shm_coll_state().handle->has_pipeline_ring(0),
                comm.rank() < 2 || comm.rank() == size - 1)
          << "exactly the roots must have used a broadcast ring";
    });
  }
}

// The root needs no reader until the broadcast ring is full.
TEST(Pipeline, RootRunsAheadUntilTheRingIsFull) {
  std::atomic<int> given{0};
  on_segment_members(2, [&](Comm& comm) {
    // large enough that the broadcast ring is full before the inline slots are used up
    constexpr std::uint64_t kEach = 4 * kChunkItems;
    constexpr int kRounds = 40, kAhead = static_cast<int>(kRingItems / kEach);
    for (int i = 0; i < kRounds; ++i) {
      Items data = comm.rank() == 0 ? values(i, kEach) : untouched(kEach);
      // acquire and release: a thread that sees the number also sees the completed broadcasts
      if (comm.rank() == 1 && i == 0)
        while (given.load(std::memory_order_acquire) < kAhead) std::this_thread::yield();
      if (comm.rank() == 1) {
        ASSERT_LE(given.load(std::memory_order_acquire), i + kAhead);
      }
      ASSERT_TRUE(run(comm, bcast(CollSeq::blocking(comm), in(data), 0)));
      if (comm.rank() == 0) given.store(i + 1, std::memory_order_release);
      ASSERT_EQ(data, values(i, kEach)) << i;
    }
  });
}

TEST(Pipeline, WorksWithTypesWithHoles) {
  on_segment_members(3, [](Comm& comm) {
    const std::uint64_t count = 2 * kChunkItems + 3;
    const types::Type every_second = p2p::value_of(
        types::vector(static_cast<std::int64_t>(count), 1, 16, int64_type()));
    Items sparse = untouched(2 * count), dense = untouched(count);
    const bool has_holes = comm.rank() != 0;  // at the root, and at one reader
    for (std::size_t i = 0; i < count && comm.rank() == 1; ++i) sparse[2 * i] = value_at(1, i);
    ASSERT_TRUE(run(
        comm, bcast(CollSeq::blocking(comm),
                    has_holes ? types::Buffer{sparse.data(), 1, &every_second} : in(dense), 1)));
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(has_holes ? sparse[2 * i] : dense[i], value_at(1, i));
    for (std::size_t i = 1; i + 1 < 2 * count && has_holes; i += 2)
      ASSERT_EQ(sparse[i], -1) << "a hole was modified";
  });
}

TEST(Pipeline, FallsBackToMessagesWithoutMemory) {
  for (int poor : {0, 1}) {
    on_members_of_node(3, true, [poor](Comm& comm, p2p::World&, NodeLocality& locality) {
      if (comm.rank() == poor) locality.refuse_memory();
      for (int root : {0, 1, 2, 1, 0}) {
        Items data = comm.rank() == root ? values(root, 3 * kChunkItems)
                                         : untouched(3 * kChunkItems);
        ASSERT_TRUE(run(comm, bcast(CollSeq::blocking(comm), in(data), root)));
        ASSERT_EQ(data, values(root, 3 * kChunkItems));
      }
    });
  }
}

/// An item whose size does not divide the size of a chunk.
struct Three {
  std::uint64_t a, b, c;
  bool operator==(const Three&) const = default;
};
const types::Type& three_type() {
  static const types::Type type{.size = sizeof(Three),
                                .extent = sizeof(Three),
                                .elements = 3,
                                .base = types::find_predefined("MPI_UINT64_T")};
  return type;
}
void add_threes(void*, const void* in, void* inout, std::uint64_t count, const types::Type&) {
  const auto* from = static_cast<const Three*>(in);
  auto* to = static_cast<Three*>(inout);
  for (std::uint64_t i = 0; i < count; ++i)
    to[i] = {to[i].a + from[i].a, to[i].b + from[i].b, to[i].c + from[i].c};
}
const types::Op& threes_added() {
  static const types::Op op{.name = "sum of threes", .commutative = true, .user = add_threes};
  return op;
}
std::vector<Three> threes(int rank, std::uint64_t count) {
  std::vector<Three> all;
  const auto from = static_cast<std::uint64_t>(rank) + 1;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back({from * i, from + i, from << (i % 32)});
  return all;
}

TEST(Pipeline, ReducesForTwoMembers) {
  on_segment_members(2, [](Comm& comm) {
    const int rank = comm.rank();
    for (std::uint64_t count : kPipelineLengths) {
      for (const auto& [root, in_place] : {std::pair{0, false}, {1, true}, {1, false}, {0, true}}) {
        std::vector<Three> own = threes(rank, count),
                           result = in_place ? own : std::vector<Three>(count),
                           expected = threes(0, count);
        add_threes(nullptr, threes(1, count).data(), expected.data(), count, three_type());
        const types::ConstBuffer send = in_place && rank == root
                                            ? kInPlace
                                            : types::ConstBuffer{own.data(), count, &three_type()};
        ASSERT_TRUE(run(comm, reduce(CollSeq::blocking(comm), send, result.data(), count,
                                     three_type(), threes_added(), root)));
        if (rank == root) {
          ASSERT_EQ(result, expected) << count << " items to " << root;
        }
        // a non-commutative operation uses another algorithm
        Maps maps_of_all = maps(rank, count);
        const types::ConstBuffer mine = in_place && rank == root
                                            ? kInPlace
                                            : types::ConstBuffer{maps_of_all.data(), count,
                                                                 &affine_type()};
        Maps composition = maps_of_all;
        ASSERT_TRUE(run(comm, reduce(CollSeq::blocking(comm), mine, composition.data(), count,
                                     affine_type(), compose(), root)));
        if (rank == root) {
          ASSERT_EQ(composition, composed(0, 1, count));
        }
      }
    }
    ASSERT_TRUE(comm.shm_coll_state().handle->has_pipeline_ring(0))
        << "no data used the broadcast ring";
  });
}

// A member with another length reports an error, no member hangs, and the next collective works.
TEST(Pipeline, LengthMismatchIsReportedWithoutHang) {
  for (const auto& [usual, other] : {std::pair{2 * kChunkItems, std::uint64_t{2}},
                                     {std::uint64_t{2}, 2 * kChunkItems},
                                     {kChunkItems, 2 * kChunkItems},
                                     {2 * kChunkItems, kChunkItems},
                                     {2 * kRingItems, std::uint64_t{2}},
                                     {2 * kRingItems, kChunkItems}}) {
    SCOPED_TRACE(std::to_string(usual) + " items, at one member " + std::to_string(other));
    for (int root : {0, 1}) {
      on_segment_members(3, [&, usual = usual, other = other](Comm& comm) {
        Items own = values(comm.rank(), std::max(usual, other));
        const auto given = run(
            comm, bcast(CollSeq::blocking(comm),
                        {own.data(), comm.rank() == 1 ? other : usual, &int64_type()}, root));
        ASSERT_EQ(given.has_value(), comm.rank() == root || (root == 0 && comm.rank() != 1))
            << comm.rank();
        if (!given) {
          EXPECT_EQ(given.error().error_class(), ErrorClass::truncate) << given.error().text();
        }
        Items data = comm.rank() == 2 ? values(2, 2 * kChunkItems) : untouched(2 * kChunkItems);
        ASSERT_TRUE(run(comm, bcast(CollSeq::blocking(comm), in(data), 2)));
        ASSERT_EQ(data, values(2, 2 * kChunkItems));
      });
      on_segment_members(2, [&, usual = usual, other = other](Comm& comm) {
        Items own = values(comm.rank(), std::max(usual, other)), result = own;
        const auto count = comm.rank() == 1 ? other : usual;
        const auto reduced = run(
            comm, reduce(CollSeq::blocking(comm), {own.data(), count, &int64_type()}, result.data(),
                         count, int64_type(), sum(), root));
        if (comm.rank() == root) {
          ASSERT_FALSE(reduced);
          EXPECT_EQ(reduced.error().error_class(), ErrorClass::truncate) << reduced.error().text();
        }
        Items data = comm.rank() == 1 ? values(2, 2 * kChunkItems) : untouched(2 * kChunkItems);
        ASSERT_TRUE(run(comm, bcast(CollSeq::blocking(comm), in(data), 1)));
        ASSERT_EQ(data, values(2, 2 * kChunkItems));
      });
    }
  }
}

// Once as the root, which waits for the dead reader; once as a reader of the dead root.
TEST(Pipeline, DeadMemberIsNamedInTheError) {
  for (int root : {0, 1}) {
    on_members(2, true, [root](Comm& comm, p2p::World& world) {
      ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
      if (comm.rank() == 1) return world.kill(1);
      Items data = values(0, 2 * kRingItems);
      const auto given = run(comm, bcast(CollSeq::blocking(comm), in(data), root));
      ASSERT_FALSE(given);
      EXPECT_EQ(given.error().error_class(), ErrorClass::proc_aborted) << given.error().text();
    });
  }
}

}  // namespace
}  // namespace shim::coll
