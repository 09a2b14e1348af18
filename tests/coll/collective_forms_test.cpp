// SPDX-License-Identifier: BSD-3-Clause
// Tests the collectives as the interposition layer calls them: v-forms, in-place forms, types with
// holes. The type is MPI_SHORT_INT, whose items have 8 bytes with 6 bytes of data. The holes of a
// receive buffer must stay unchanged.
#include <cstring>
#include <numeric>

#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

const types::Type& pair_type() { return *types::find_predefined("MPI_SHORT_INT"); }

struct ShortInt {
  std::int16_t value = -1;
  std::uint16_t hole = 0xbeef;
  std::int32_t index = -1;
  bool operator==(const ShortInt&) const = default;
};
static_assert(sizeof(ShortInt) == 8);
using ShortInts = std::vector<ShortInt>;

// The holes of send buffers have other bytes than those of receive buffers, to detect copied holes.
ShortInts pairs(int rank, std::size_t count, std::size_t first = 0) {
  ShortInts result(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto n = static_cast<std::size_t>(rank) * 1000 + first + i;
    result[i] = {static_cast<std::int16_t>(n), 0xdead, static_cast<std::int32_t>(n * n)};
  }
  return result;
}
ShortInts with_holes_of_receiver(ShortInts items) {
  for (ShortInt& item : items) item.hole = 0xbeef;
  return items;
}
types::ConstBuffer out(const ShortInts& items) {
  return {items.data(), items.size(), &pair_type()};
}
types::Buffer in(ShortInts& items) { return {items.data(), items.size(), &pair_type()}; }
// A buffer with `count` items for each rank, as in gather, scatter and allgather.
types::ConstBuffer each(const ShortInts& items, std::size_t count) {
  return {items.data(), count, &pair_type()};
}
types::Buffer each(ShortInts& items, std::size_t count) {
  return {items.data(), count, &pair_type()};
}

// Blocks of all ranks in an array with gaps: rank i has i%3*7 items, and the last rank's block
// comes first.
struct Layout {
  explicit Layout(int size) : counts(static_cast<std::size_t>(size)), displacements(counts.size()) {
    std::int64_t next = 1;
    for (std::size_t i = counts.size(); i-- > 0;) {
      counts[i] = static_cast<std::int64_t>(i % 3 * 7);
      displacements[i] = next;
      next += counts[i] + 2;
    }
    total = static_cast<std::size_t>(next);
  }
  Blocks blocks() const { return {counts, displacements}; }
  std::size_t count(int rank) const {
    return static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]);
  }
  auto block_at(ShortInts& all, int rank) const {
    return all.begin() + displacements[static_cast<std::size_t>(rank)];
  }
  void put(ShortInts& all, int rank, const ShortInts& block) const {
    std::copy(block.begin(), block.end(), block_at(all, rank));
  }

  std::vector<std::int64_t> counts, displacements;
  std::size_t total = 0;
};

std::vector<ShortInts> everyones(int size, std::size_t count) {
  std::vector<ShortInts> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(pairs(rank, count));
  return all;
}
std::size_t index(const Comm& comm) { return static_cast<std::size_t>(comm.rank()); }
std::size_t n(int count) { return static_cast<std::size_t>(count); }

// The blocks of all ranks in order, in a receive buffer.
ShortInts gathered(int size, std::size_t count) {
  ShortInts all;
  for (int rank = 0; rank < size; ++rank) {
    ShortInts block = with_holes_of_receiver(pairs(rank, count));
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

class CollectiveForms : public testing::TestWithParam<int> {
 protected:
  int size() const { return GetParam(); }
  Rig rig{GetParam(), troubled(7)};
};
INSTANTIATE_TEST_SUITE_P(Sizes, CollectiveForms, testing::Values(1, 2, 3, 5, 8));

constexpr std::size_t kItems = 300;  // long enough for a rendezvous

TEST_P(CollectiveForms, BcastLeavesHolesUnchanged) {
  for (int root = 0; root < size(); ++root) {
    std::vector<ShortInts> data(n(size()), ShortInts(kItems));
    data[n(root)] = pairs(root, kItems);
    rig.expect_success([&](Comm& comm) { return bcast(comm, in(data[index(comm)]), root); });
    for (int rank = 0; rank < size(); ++rank) {
      ASSERT_EQ(data[n(rank)],
                rank == root ? pairs(root, kItems) : with_holes_of_receiver(pairs(root, kItems)));
    }
  }
}

TEST_P(CollectiveForms, GatherLeavesHolesUnchanged) {
  auto own = everyones(size(), kItems);
  for (bool in_place : {false, true}) {
    int root = size() / 2;
    ShortInts all(kItems * n(size()));
    ShortInts expected = gathered(size(), kItems);
    if (in_place) {
      std::copy(own[n(root)].begin(), own[n(root)].end(),
                all.begin() + static_cast<std::ptrdiff_t>(n(root) * kItems));
      std::copy(own[n(root)].begin(), own[n(root)].end(),
                expected.begin() + static_cast<std::ptrdiff_t>(n(root) * kItems));
    }
    rig.expect_success([&](Comm& comm) {
      bool is_root = comm.rank() == root;
      return gather(comm, is_root && in_place ? kInPlace : out(own[index(comm)]),
                    is_root ? each(all, kItems) : types::Buffer{}, root);
    });
    ASSERT_EQ(all, expected);
  }
}

TEST_P(CollectiveForms, GathervLeavesHolesUnchanged) {
  Layout layout(size());
  int root = size() - 1;
  std::vector<ShortInts> own;
  for (int rank = 0; rank < size(); ++rank) own.push_back(pairs(rank, layout.count(rank)));
  for (bool in_place : {false, true}) {
    ShortInts all(layout.total), expected(layout.total);
    for (int rank = 0; rank < size(); ++rank)
      layout.put(expected, rank, with_holes_of_receiver(own[n(rank)]));
    if (in_place) {
      layout.put(all, root, own[n(root)]);
      layout.put(expected, root, own[n(root)]);
    }
    rig.expect_success([&](Comm& comm) {
      bool is_root = comm.rank() == root;
      return gatherv(comm, is_root && in_place ? kInPlace : out(own[index(comm)]),
                     is_root ? all.data() : nullptr, is_root ? layout.blocks() : Blocks{},
                     is_root ? &pair_type() : nullptr, root);
    });
    ASSERT_EQ(all, expected);
  }
}

TEST_P(CollectiveForms, ScatterLeavesHolesUnchanged) {
  int root = size() / 2;
  ShortInts all = pairs(root, kItems * n(size()));
  for (bool in_place : {false, true}) {
    std::vector<ShortInts> own(n(size()), ShortInts(kItems));
    rig.expect_success([&](Comm& comm) {
      bool is_root = comm.rank() == root;
      return scatter(comm, is_root ? each(std::as_const(all), kItems) : types::ConstBuffer{},
                     is_root && in_place ? types::Buffer{} : in(own[index(comm)]), root);
    });
    for (int rank = 0; rank < size(); ++rank) {
      ShortInts block = with_holes_of_receiver(pairs(root, kItems, n(rank) * kItems));
      ASSERT_EQ(own[n(rank)], rank == root && in_place ? ShortInts(kItems) : block);
    }
    ASSERT_EQ(all, pairs(root, kItems * n(size())));
  }
}

TEST_P(CollectiveForms, ScattervLeavesHolesUnchanged) {
  Layout layout(size());
  int root = size() - 1;
  ShortInts all = pairs(root, layout.total);
  for (bool in_place : {false, true}) {
    std::vector<ShortInts> own;
    for (int rank = 0; rank < size(); ++rank) own.push_back(ShortInts(layout.count(rank)));
    rig.expect_success([&](Comm& comm) {
      bool is_root = comm.rank() == root;
      return scatterv(comm, is_root ? all.data() : nullptr, is_root ? layout.blocks() : Blocks{},
                      is_root ? &pair_type() : nullptr,
                      is_root && in_place ? types::Buffer{} : in(own[index(comm)]), root);
    });
    for (int rank = 0; rank < size(); ++rank) {
      ShortInts block(layout.block_at(all, rank),
                      layout.block_at(all, rank) + layout.counts[n(rank)]);
      ASSERT_EQ(own[n(rank)], rank == root && in_place ? ShortInts(layout.count(rank))
                                                       : with_holes_of_receiver(block));
    }
  }
}

TEST_P(CollectiveForms, AllgatherLeavesHolesUnchanged) {
  auto own = everyones(size(), kItems);
  for (bool in_place : {false, true}) {
    std::vector<ShortInts> all(n(size()), ShortInts(kItems * n(size())));
    for (int rank = 0; rank < size() && in_place; ++rank) {
      std::copy(own[n(rank)].begin(), own[n(rank)].end(),
                all[n(rank)].begin() + static_cast<std::ptrdiff_t>(n(rank) * kItems));
    }
    rig.expect_success([&](Comm& comm) {
      return allgather(comm, in_place ? kInPlace : out(own[index(comm)]),
                       each(all[index(comm)], kItems));
    });
    for (const ShortInts& one : all)
      ASSERT_EQ(with_holes_of_receiver(one), gathered(size(), kItems));
    if (in_place) continue;
    ASSERT_EQ(all[0], gathered(size(), kItems)) << "a hole was modified";
  }
}

TEST_P(CollectiveForms, AllgathervLeavesHolesUnchanged) {
  Layout layout(size());
  std::vector<ShortInts> own;
  ShortInts expected(layout.total);
  for (int rank = 0; rank < size(); ++rank) {
    own.push_back(pairs(rank, layout.count(rank)));
    layout.put(expected, rank, with_holes_of_receiver(own.back()));
  }
  for (bool in_place : {false, true}) {
    std::vector<ShortInts> all(n(size()), ShortInts(layout.total));
    for (int rank = 0; rank < size() && in_place; ++rank)
      layout.put(all[n(rank)], rank, with_holes_of_receiver(own[n(rank)]));
    rig.expect_success([&](Comm& comm) {
      return allgatherv(comm, in_place ? kInPlace : out(own[index(comm)]), all[index(comm)].data(),
                        layout.blocks(), pair_type());
    });
    for (const ShortInts& one : all) ASSERT_EQ(one, expected);
  }
}

TEST_P(CollectiveForms, AlltoallLeavesHolesUnchanged) {
  constexpr std::size_t kBlock = 40;
  for (bool in_place : {false, true}) {
    auto send = everyones(size(), kBlock * n(size()));
    auto receive = in_place ? send
                            : std::vector<ShortInts>(n(size()), ShortInts(kBlock * n(size())));
    rig.expect_success([&](Comm& comm) {
      return alltoall(comm, in_place ? kInPlace : each(std::as_const(send[index(comm)]), kBlock),
                      each(receive[index(comm)], kBlock));
    });
    for (int rank = 0; rank < size(); ++rank) {
      ShortInts expected;
      for (int from = 0; from < size(); ++from) {
        ShortInts block = with_holes_of_receiver(pairs(from, kBlock, n(rank) * kBlock));
        expected.insert(expected.end(), block.begin(), block.end());
      }
      ASSERT_EQ(in_place ? with_holes_of_receiver(receive[n(rank)]) : receive[n(rank)], expected);
    }
  }
}

// Rank i sends (i + j) % 4 * 5 items to rank j. Both directions have equal lengths, as in-place
// exchanges require.
TEST_P(CollectiveForms, AlltoallvLeavesHolesUnchanged) {
  auto layout_of = [&](int rank) {
    Layout layout(size());
    std::int64_t next = 0;
    for (int other = 0; other < size(); ++other) {
      layout.counts[n(other)] = (rank + other) % 4 * 5;
      layout.displacements[n(other)] = next;
      next += layout.counts[n(other)] + 1;
    }
    layout.total = static_cast<std::size_t>(next);
    return layout;
  };
  std::vector<Layout> layouts;
  for (int rank = 0; rank < size(); ++rank) layouts.push_back(layout_of(rank));
  for (bool in_place : {false, true}) {
    std::vector<ShortInts> send, receive, expected;
    for (int rank = 0; rank < size(); ++rank) {
      send.push_back(pairs(rank, layouts[n(rank)].total));
      receive.push_back(in_place ? with_holes_of_receiver(send.back())
                                 : ShortInts(layouts[n(rank)].total));
    }
    expected = receive;
    for (int to = 0; to < size(); ++to) {
      for (int from = 0; from < size(); ++from) {
        auto first = layouts[n(from)].block_at(send[n(from)], to);
        ShortInts block(first, first + layouts[n(from)].counts[n(to)]);
        layouts[n(to)].put(expected[n(to)], from, with_holes_of_receiver(block));
      }
    }
    rig.expect_success([&](Comm& comm) {
      std::size_t me = index(comm);
      return alltoallv(
          comm, in_place ? nullptr : send[me].data(), in_place ? Blocks{} : layouts[me].blocks(),
          in_place ? nullptr : &pair_type(), receive[me].data(), layouts[me].blocks(), pair_type());
    });
    ASSERT_EQ(receive, expected);
  }
}

// In-place forms of all reductions and scans, through the interface of the module; sums of numbers.
TEST_P(CollectiveForms, ReductionsWorkInPlace) {
  const types::Op& sum = types::predefined(types::Operator::sum);
  const types::Type& type = int64_type();
  constexpr std::uint64_t kCount = 64;
  std::uint64_t total = kCount * n(size());
  std::vector<Items> data;
  auto fill = [&](std::uint64_t count) {
    data.clear();
    for (int rank = 0; rank < size(); ++rank) data.push_back(values(rank, count));
  };
  fill(kCount);
  rig.expect_success([&](Comm& comm) {
    bool is_root = comm.rank() == 0;
    Items& own = data[index(comm)];
    return reduce(comm, is_root ? kInPlace : shim::coll::out(own), is_root ? own.data() : nullptr,
                  kCount, type, sum, 0);
  });
  EXPECT_EQ(data[0], summed(0, size() - 1, kCount));
  fill(kCount);
  rig.expect_success([&](Comm& comm) {
    return allreduce(comm, kInPlace, data[index(comm)].data(), kCount, type, sum);
  });
  for (const Items& one : data) EXPECT_EQ(one, summed(0, size() - 1, kCount));
  fill(kCount);
  rig.expect_success([&](Comm& comm) {
    return scan(comm, kInPlace, data[index(comm)].data(), kCount, type, sum);
  });
  for (int rank = 0; rank < size(); ++rank) EXPECT_EQ(data[n(rank)], summed(0, rank, kCount));
  fill(kCount);
  rig.expect_success([&](Comm& comm) {
    return exscan(comm, kInPlace, data[index(comm)].data(), kCount, type, sum);
  });
  for (int rank = 1; rank < size(); ++rank) EXPECT_EQ(data[n(rank)], summed(0, rank - 1, kCount));

  Items whole = summed(0, size() - 1, total);
  auto expect_blocks = [&] {
    for (int rank = 0; rank < size(); ++rank) {
      auto first = whole.begin() + static_cast<std::ptrdiff_t>(n(rank) * kCount);
      data[n(rank)].resize(kCount);
      EXPECT_EQ(data[n(rank)], Items(first, first + kCount)) << "rank " << rank;
    }
  };
  fill(total);
  rig.expect_success([&](Comm& comm) {
    return reduce_scatter_block(comm, kInPlace, data[index(comm)].data(), kCount, type, sum);
  });
  expect_blocks();
  fill(total);
  std::vector<std::int64_t> counts(n(size()), kCount);
  rig.expect_success([&](Comm& comm) {
    return reduce_scatter(comm, kInPlace, data[index(comm)].data(), counts, type, sum);
  });
  expect_blocks();
}

/// The inputs of the table's choice.
struct Case {
  int size;
  std::uint64_t bytes;
  bool commutative;
  MemorySharing sharing;
  const Nodes* nodes;
  bool suits(const When& when) const {
    return when.is_possible(size, commutative, nodes) && when.is_good(size, bytes, sharing, nodes);
  }
};

template <typename Body>
void for_each_case(const Body& body) {
  for (int size = 1; size <= 64; ++size) {
    const auto in_order = Nodes::of(
        size, 0, [](int rank) { return static_cast<std::uint32_t>(rank / 2); },
        MemorySharing::memory);
    const auto in_turn = Nodes::of(
        size, 0, [](int rank) { return static_cast<std::uint32_t>(rank % 2); },
        MemorySharing::memory);
    for (std::uint64_t bytes = 0; bytes <= 1u << 24; bytes = std::max<std::uint64_t>(1, 2 * bytes))
      for (bool commutative : {false, true}) {
        for (const MemorySharing sharing :
             {MemorySharing::nothing, MemorySharing::segment, MemorySharing::memory})
          body(Case{size, bytes, commutative, sharing, nullptr});
        body(Case{size, bytes, commutative, MemorySharing::nothing, in_order.get()});
        body(Case{size, bytes, commutative, MemorySharing::nothing, in_turn.get()});
      }
  }
}

TEST(AlgorithmTable, RowsThatNeedSharedMemoryApplyOnlyWithIt) {
  const When segment{.wants = MemorySharing::segment}, memory{.wants = MemorySharing::memory}, any;
  for (const MemorySharing sharing :
       {MemorySharing::nothing, MemorySharing::segment, MemorySharing::memory}) {
    EXPECT_EQ(segment.is_good(4, 4096, sharing), sharing == MemorySharing::segment);
    EXPECT_EQ(memory.is_good(4, 4096, sharing), sharing == MemorySharing::memory);
    EXPECT_TRUE(any.is_good(4, 4096, sharing));
  }
}

// Each kind of algorithm has cases of its own: the segment and inline algorithms are for blocking
// collectives, and the first needs a segment.
TEST(AlgorithmTable, EveryRowIsChosenForSomeSizeAndLength) {
  const auto check = [](auto rows) {
    std::vector<bool> is_chosen(rows.size());
    for_each_case([&](const Case& one) {
      const auto chosen = std::ranges::find_if(
          rows, [&](const auto& row) { return one.suits(row.when); });
      if (chosen != rows.end()) is_chosen[static_cast<std::size_t>(chosen - rows.begin())] = true;
    });
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(is_chosen[i]) << rows[i].name;
  };
  for_each_collective([&](std::string_view name, auto member) {
    const auto& rows = default_table().*member;
    SCOPED_TRACE(name);
    check(rows.all().first(rows.segment().size()));
    check(rows.inlines());
    check(rows.tasks());
    EXPECT_EQ(rows.segment().size() + rows.inlines().size() + rows.tasks().size(),
              rows.all().size());
    ASSERT_FALSE(rows.tasks().empty());
    const When& last = rows.tasks().back().when;
    EXPECT_TRUE(last.is_possible(3, false) && last.is_good(1, 0, MemorySharing::nothing));
  });
}

TEST(AlgorithmTable, KindsAreInOrder) {
  for_each_collective([](std::string_view name, auto member) {
    const auto& rows = default_table().*member;
    SCOPED_TRACE(name);
    for (const auto& row : rows.all().first(rows.segment().size()))
      EXPECT_EQ(row.algorithm.kind, Kind::segment) << row.name;
    for (const auto& row : rows.inlines())
      EXPECT_TRUE(row.algorithm.run_inline != nullptr) << row.name;
    for (const auto& row : rows.tasks()) EXPECT_TRUE(row.algorithm.task != nullptr) << row.name;
  });
}

SegmentPath path_of_two(const AlgorithmRows<Alltoall>& rows, std::uint64_t bytes,
                        MemorySharing sharing) {
  Call call{};
  call.size = 2;
  call.sharing = sharing;
  for (const SegmentRow& row : rows.segment())
    if (row.applies(call, bytes, true)) return row.path;
  return SegmentPath::messages;
}

TEST(AlgorithmTable, LongExchangesOfTwoUseMessagesWhereTheyCopyOnce) {
  constexpr std::uint64_t kLong = 32 * 1024;
  const auto& rows = default_table().alltoall;
  EXPECT_EQ(path_of_two(rows, kLong, MemorySharing::memory), SegmentPath::messages);
  EXPECT_EQ(path_of_two(rows, kLong - 1, MemorySharing::memory), SegmentPath::broadcast_ring);
  EXPECT_EQ(path_of_two(rows, kLong, MemorySharing::segment), SegmentPath::broadcast_ring);
}

// Longer data does not fit a medium buffer, and inline algorithms have arrays of fixed length.
TEST(AlgorithmTable, RowsKeepTheLimitsOfTheirAlgorithms) {
  for_each_collective([](std::string_view name, auto member) {
    const auto& rows = default_table().*member;
    SCOPED_TRACE(name);
    for (const SegmentRow& row : rows.segment()) {
      if (row.path == SegmentPath::medium_buffer) {
        EXPECT_LE(row.when.max_bytes, node::kMediumBufferBytes);
      }
    }
    for (const auto& row : rows.inlines()) EXPECT_LE(row.when.max_size, kMaxInlineProcesses);
  });
}

}  // namespace
}  // namespace shim::coll
