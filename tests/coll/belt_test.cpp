// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives on data that is too long for a note or a sheet of a board, and goes over its belt.
#include <thread>

#include "shim/types/derive.hpp"
#include "tests/coll/meeting_rig.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;

TEST(Belt, BroadcastsOfAllLengthsFromAllRoots) {
  for (int size : {2, 3, 5, 16}) {
    at_boards(size, [size](Comm& comm) {
      for (std::uint64_t count : kBeltLengths) {
        for (int root : {0, 1, size - 1, 0, 0}) {
          Items data = comm.rank() == root ? values(root, count) : untouched(count);
          ASSERT_TRUE(run(comm, bcast(Turn::blocking(comm), in(data), root)));
          ASSERT_EQ(data, values(root, count)) << count << " items from " << root;
        }
      }
        ASSERT_EQ(comm.meeting_place().board->has_belt(0), comm.rank() < 2 || comm.rank() == size - 1) << "who gave did so in another way";
    });
  }
}

// One who gives need not wait for those who take, as far as the belt reaches.
TEST(Belt, TheRootRunsAheadUntilTheBeltIsFull) {
  std::atomic<int> given{0};
  at_boards(2, [&](Comm& comm) {
    constexpr std::uint64_t kEach = 4 * kPiece;  // so that the board's notes reach further than the belt
    constexpr int kRounds = 40, kAhead = static_cast<int>(kBelt / kEach);
    for (int i = 0; i < kRounds; ++i) {
      Items data = comm.rank() == 0 ? values(i, kEach) : untouched(kEach);
      // acquire and release: whoever sees how many are given sees that they were
      if (comm.rank() == 1 && i == 0)
        while (given.load(std::memory_order_acquire) < kAhead) std::this_thread::yield();
      if (comm.rank() == 1) {
        ASSERT_LE(given.load(std::memory_order_acquire), i + kAhead);
      }
      ASSERT_TRUE(run(comm, bcast(Turn::blocking(comm), in(data), 0)));
      if (comm.rank() == 0) given.store(i + 1, std::memory_order_release);
      ASSERT_EQ(data, values(i, kEach)) << i;
    }
  });
}

TEST(Belt, TypesWithHoles) {
  at_boards(3, [](Comm& comm) {
    const std::uint64_t count = 2 * kPiece + 3;
    const types::Type every_second = p2p::value_of(types::vector(static_cast<std::int64_t>(count), 1, 16, int64_type()));
    Items sparse = untouched(2 * count), dense = untouched(count);
    const bool has_holes = comm.rank() != 0;  // of the one who gives, and of one who takes
    for (std::size_t i = 0; i < count && comm.rank() == 1; ++i) sparse[2 * i] = value_at(1, i);
    ASSERT_TRUE(run(comm, bcast(Turn::blocking(comm), has_holes ? types::Buffer{sparse.data(), 1, &every_second} : in(dense), 1)));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(has_holes ? sparse[2 * i] : dense[i], value_at(1, i));
    for (std::size_t i = 1; i + 1 < 2 * count && has_holes; i += 2) ASSERT_EQ(sparse[i], -1) << "a hole was written to";
  });
}

TEST(Belt, WithoutMemoryMessagesDo) {
  for (int poor : {0, 1}) {
    on_members_of_node(3, true, [poor](Comm& comm, p2p::World&, Together& together) {
      if (comm.rank() == poor) together.refuse_memory();
      for (int root : {0, 1, 2, 1, 0}) {
        Items data = comm.rank() == root ? values(root, 3 * kPiece) : untouched(3 * kPiece);
        ASSERT_TRUE(run(comm, bcast(Turn::blocking(comm), in(data), root)));
        ASSERT_EQ(data, values(root, 3 * kPiece));
      }
    });
  }
}

/// Items that do not divide a piece.
struct Three {
  std::uint64_t a, b, c;
  bool operator==(const Three&) const = default;
};
const types::Type& three_type() {
  static const types::Type type{.size = sizeof(Three), .extent = sizeof(Three), .elements = 3, .base = types::find_predefined("MPI_UINT64_T")};
  return type;
}
void add_threes(void*, const void* in, void* inout, std::uint64_t count, const types::Type&) {
  const auto* from = static_cast<const Three*>(in);
  auto* to = static_cast<Three*>(inout);
  for (std::uint64_t i = 0; i < count; ++i) to[i] = {to[i].a + from[i].a, to[i].b + from[i].b, to[i].c + from[i].c};
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

TEST(Belt, ReducesOfTwo) {
  at_boards(2, [](Comm& comm) {
    const int rank = comm.rank();
    for (std::uint64_t count : kBeltLengths) {
      for (const auto& [root, in_place] : {std::pair{0, false}, {1, true}, {1, false}, {0, true}}) {
        std::vector<Three> own = threes(rank, count), result = in_place ? own : std::vector<Three>(count), expected = threes(0, count);
        add_threes(nullptr, threes(1, count).data(), expected.data(), count, three_type());
        const types::ConstBuffer send = in_place && rank == root ? kInPlace : types::ConstBuffer{own.data(), count, &three_type()};
        ASSERT_TRUE(run(comm, reduce(Turn::blocking(comm), send, result.data(), count, three_type(), threes_added(), root)));
        if (rank == root) {
          ASSERT_EQ(result, expected) << count << " items to " << root;
        }
        // one that does not commute goes another way
        Maps maps_of_all = maps(rank, count);
        const types::ConstBuffer mine = in_place && rank == root ? kInPlace : types::ConstBuffer{maps_of_all.data(), count, &affine_type()};
        Maps composition = maps_of_all;
        ASSERT_TRUE(run(comm, reduce(Turn::blocking(comm), mine, composition.data(), count, affine_type(), compose(), root)));
        if (rank == root) {
          ASSERT_EQ(composition, composed(0, 1, count));
        }
      }
    }
    ASSERT_TRUE(comm.meeting_place().board->has_belt(0)) << "nothing went over the belt";
  });
}

// Whoever takes another length than is laid says so, and nobody waits; what comes next is right.
TEST(Belt, OtherLengthsAreReportedAndLeaveNobodyWaiting) {
  for (const auto& [usual, other] : {std::pair{2 * kPiece, std::uint64_t{2}}, {std::uint64_t{2}, 2 * kPiece}, {kPiece, 2 * kPiece},
                                     {2 * kPiece, kPiece}, {2 * kBelt, std::uint64_t{2}}, {2 * kBelt, kPiece}}) {
    SCOPED_TRACE(std::to_string(usual) + " items, of one member " + std::to_string(other));
    for (int root : {0, 1}) {
      at_boards(3, [&, usual = usual, other = other](Comm& comm) {
        Items own = values(comm.rank(), std::max(usual, other));
        const auto given = run(comm, bcast(Turn::blocking(comm), {own.data(), comm.rank() == 1 ? other : usual, &int64_type()}, root));
        ASSERT_EQ(given.has_value(), comm.rank() == root || (root == 0 && comm.rank() != 1)) << comm.rank();
        if (!given) {
          EXPECT_EQ(given.error().error_class(), ErrorClass::truncate) << given.error().text();
        }
        Items data = comm.rank() == 2 ? values(2, 2 * kPiece) : untouched(2 * kPiece);
        ASSERT_TRUE(run(comm, bcast(Turn::blocking(comm), in(data), 2)));
        ASSERT_EQ(data, values(2, 2 * kPiece));
      });
      at_boards(2, [&, usual = usual, other = other](Comm& comm) {
        Items own = values(comm.rank(), std::max(usual, other)), result = own;
        const auto count = comm.rank() == 1 ? other : usual;
        const auto reduced = run(comm, reduce(Turn::blocking(comm), {own.data(), count, &int64_type()}, result.data(), count, int64_type(), sum(), root));
        if (comm.rank() == root) {
          ASSERT_FALSE(reduced);
          EXPECT_EQ(reduced.error().error_class(), ErrorClass::truncate) << reduced.error().text();
        }
        Items data = comm.rank() == 1 ? values(2, 2 * kPiece) : untouched(2 * kPiece);
        ASSERT_TRUE(run(comm, bcast(Turn::blocking(comm), in(data), 1)));
        ASSERT_EQ(data, values(2, 2 * kPiece));
      });
    }
  }
}

// One who waits for a member to take, and one who waits for what it lays.
TEST(Belt, AMemberThatDiesIsNamed) {
  for (int root : {0, 1}) {
    on_members(2, true, [root](Comm& comm, p2p::World& world) {
      ASSERT_TRUE(run(comm, barrier(Turn::blocking(comm))));
      if (comm.rank() == 1) return world.kill(1);
      Items data = values(0, 2 * kBelt);
      const auto given = run(comm, bcast(Turn::blocking(comm), in(data), root));
      ASSERT_FALSE(given);
      EXPECT_EQ(given.error().error_class(), ErrorClass::proc_aborted) << given.error().text();
    });
  }
}

}  // namespace
}  // namespace shim::coll
