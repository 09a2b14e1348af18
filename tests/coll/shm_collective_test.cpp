// SPDX-License-Identifier: BSD-3-Clause
// Tests blocking collectives in a collective segment.
#include "tests/coll/shm_collective_rig.hpp"

#include <cstring>
#include <thread>

#include "shim/types/type_constructors.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;

/// Collects all results of one member.
class Results {
 public:
  template <typename T>
  void add(const std::vector<T>& items) {
    const auto bytes = std::as_bytes(std::span(items));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  bool operator==(const Results&) const = default;
  bool empty() const { return bytes_.empty(); }

 private:
  std::vector<std::byte> bytes_;
};

void move_data(Comm& comm, int root, std::uint64_t count, Results& results) {
  const int rank = comm.rank(), size = comm.size();
  const bool is_root = rank == root;
  ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
  Items data = is_root ? values(root, count) : untouched(count);
  ASSERT_TRUE(run(comm, bcast(CollSeq::blocking(comm), in(data), root)));
  ASSERT_EQ(data, values(root, count));
  for (bool in_place : {false, true}) {
    Items own = values(rank, count), all = untouched(count * n(size)), back = untouched(count);
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(count * n(rank)));
    const types::Buffer blocks{all.data(), count, &int64_type()};
    ASSERT_TRUE(run(comm, gather(CollSeq::blocking(comm), in_place && is_root ? kInPlace : out(own),
                                 blocks, root)));
    results.add(all);
    ASSERT_TRUE(
        run(comm, allgather(CollSeq::blocking(comm), in_place ? kInPlace : out(own), blocks)));
    results.add(all);
    ASSERT_TRUE(run(comm, scatter(CollSeq::blocking(comm), {all.data(), count, &int64_type()},
                                  in_place && is_root ? types::Buffer{} : in(back), root)));
    results.add(back);
    Items incoming = all;
    ASSERT_TRUE(run(
        comm, alltoall(CollSeq::blocking(comm),
                       in_place ? kInPlace : types::ConstBuffer{all.data(), count, &int64_type()},
                       {incoming.data(), count, &int64_type()})));
    results.add(incoming);
  }
}

/// Return numbers whose sum depends on the order of additions.
std::vector<double> fractions(int rank, std::uint64_t count) {
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < count; ++i)
    numbers.push_back(1.0 / static_cast<double>(3 + rank + 7 * static_cast<int>(i)));
  return numbers;
}

/// Return a sum that is combined in the order of ranks, as an operation that does not commute.
types::Op ordered_sum() {
  return {.name = "ordered sum",
          .commutative = false,
          .user = [](void*, const void* in, void* inout, std::uint64_t count, const types::Type&) {
            const auto* from = static_cast<const double*>(in);
            auto* to = static_cast<double*>(inout);
            for (std::uint64_t i = 0; i < count; ++i) to[i] = from[i] + to[i];
          }};
}

void combine_data(Comm& comm, int root, std::uint64_t count, Results& results) {
  const int rank = comm.rank(), size = comm.size();
  for (bool in_place : {false, true}) {
    const std::vector<double> own = fractions(rank, count);
    std::vector<double> result(count, -1);
    if (in_place) result = own;
    const types::ConstBuffer send = in_place
                                        ? kInPlace
                                        : types::ConstBuffer{own.data(), count, &double_type()};
    ASSERT_TRUE(run(comm, reduce(CollSeq::blocking(comm),
                                 in_place && rank != root
                                     ? types::ConstBuffer{own.data(), count, &double_type()}
                                     : send,
                                 result.data(), count, double_type(), sum(), root)));
    results.add(result);
    if (in_place) result = own;
    ASSERT_TRUE(run(comm, allreduce(CollSeq::blocking(comm), send, result.data(), count,
                                    double_type(), sum())));
    results.add(result);

    Maps mine = maps(rank, count), all = in_place ? mine : Maps(count);
    const types::ConstBuffer my_maps = in_place
                                           ? kInPlace
                                           : types::ConstBuffer{mine.data(), count, &affine_type()};
    ASSERT_TRUE(run(comm, allreduce(CollSeq::blocking(comm), my_maps, all.data(), count,
                                    affine_type(), compose())));
    ASSERT_EQ(all, composed(0, size - 1, count));

    for (const types::Op& op : {sum(), ordered_sum()}) {
      std::vector<double> whole = fractions(rank, count * n(size)), part = whole;
      const auto whole_out = [&](std::uint64_t items) {
        return in_place ? kInPlace : types::ConstBuffer{whole.data(), items, &double_type()};
      };
      ASSERT_TRUE(
          run(comm, reduce_scatter_block(CollSeq::blocking(comm), whole_out(count * n(size)),
                                         part.data(), count, double_type(), op)));
      part.resize(count);
      results.add(part);
      std::vector<std::int64_t> counts(n(size), 0);
      counts[n(size - 1)] = static_cast<std::int64_t>(count);
      std::vector<double> last = fractions(rank, count);
      ASSERT_TRUE(run(comm, reduce_scatter(CollSeq::blocking(comm), whole_out(count), last.data(),
                                           counts, double_type(), op)));
      if (rank == size - 1) results.add(last);
    }
  }
}

// Lengths around the capacity of a medium buffer, which is 136 items of 8 bytes for one member or
// for all members together; and around the capacity of an inline slot.
TEST(ShmCollective, MatchesMessagesBitForBit) {
  for (int size : {2, 3, 5, 8, 16}) {
    for (std::uint64_t count : {0, 1, 3, 7, 8, 9, 67, 68, 135, 136, 137, 300}) {
      SCOPED_TRACE(std::to_string(size) + " members, " + std::to_string(count) + " items");
      std::vector<Results> in_segment(n(size)), by_messages(n(size));
      for (bool with_segment : {false, true}) {
        on_members(size, with_segment, [&](Comm& comm, p2p::World&) {
          Results& results = (with_segment ? in_segment : by_messages)[n(comm.rank())];
          for (int root : {0, size - 1}) {
            move_data(comm, root, count, results);
            combine_data(comm, root, count, results);
          }
        });
      }
      ASSERT_EQ(in_segment, by_messages);
    }
  }
}

TEST(ShmCollective, AlltoallvWorksIfSomeBlocksAreTooLong) {
  on_segment_members(5, [](Comm& comm) {
    const int rank = comm.rank(), size = comm.size();
    std::vector<std::int64_t> counts, displacements;
    for (int i = 0; i < size; ++i)
      counts.push_back(i % 2 == 0 ? 3 : 200 + i), displacements.push_back(250 * i);
    const Blocks blocks{counts, displacements};
    const auto mine = static_cast<std::uint64_t>(counts[n(rank)]);
    for (int root = 0; root < size; ++root) {
      Items own = values(rank, mine), all = untouched(1250), back = untouched(mine);
      ASSERT_TRUE(run(comm, gatherv(CollSeq::blocking(comm), out(own), all.data(), blocks,
                                    &int64_type(), root)));
      for (int from = 0; from < size && rank == root; ++from) {
        const auto first = all.begin() + displacements[n(from)];
        ASSERT_EQ(Items(first, first + counts[n(from)]),
                  values(from, static_cast<std::uint64_t>(counts[n(from)])));
      }
      ASSERT_TRUE(run(comm, scatterv(CollSeq::blocking(comm), all.data(), blocks, &int64_type(),
                                     in(back), root)));
      ASSERT_EQ(back, own);
      ASSERT_TRUE(run(
          comm, allgatherv(CollSeq::blocking(comm), out(own), all.data(), blocks, int64_type())));
    }
  });
}

// Each member decides by itself if its data fit: members of odd rank have long data for the first.
TEST(ShmCollective, ExchangeWorksIfSomePartsAreTooLong) {
  on_segment_members(4, [](Comm& comm) {
    const int rank = comm.rank(), size = comm.size();
    const auto length = [](int from, int to) {
      return from % 2 == 1 && to == 0 ? 500 : (from + to) % 3;
    };
    std::vector<std::int64_t> give, take, offsets;
    Items outgoing = untouched(2000), incoming = untouched(2000);
    for (int other = 0; other < size; ++other) {
      give.push_back(length(rank, other)), take.push_back(length(other, rank)),
          offsets.push_back(500 * other);
      const Items block = values(10 * rank + other, static_cast<std::uint64_t>(give.back()));
      std::copy(block.begin(), block.end(), outgoing.begin() + offsets.back());
    }
    for (int repetition = 0; repetition < 3; ++repetition) {
      ASSERT_TRUE(
          run(comm, alltoallv(CollSeq::blocking(comm), outgoing.data(), {give, offsets},
                              &int64_type(), incoming.data(), {take, offsets}, int64_type())));
      for (int from = 0; from < size; ++from) {
        const auto first = incoming.begin() + offsets[n(from)];
        ASSERT_EQ(Items(first, first + take[n(from)]),
                  values(10 * from + rank, static_cast<std::uint64_t>(take[n(from)])));
      }
      Items of_types = untouched(2000);
      std::vector<types::ConstBuffer> out_of;
      std::vector<types::Buffer> into;
      for (std::size_t other = 0; other < n(size); ++other) {
        out_of.push_back({outgoing.data() + offsets[other], static_cast<std::uint64_t>(give[other]),
                          &int64_type()});
        into.push_back({of_types.data() + offsets[other], static_cast<std::uint64_t>(take[other]),
                        &int64_type()});
      }
      ASSERT_TRUE(run(comm, alltoallw(CollSeq::blocking(comm), out_of, into)));
      ASSERT_EQ(of_types, incoming);
    }
  });
}

// Each member sends to itself and to the next two members, to one of them twice. The last member
// has too much data for the collective segment.
TEST(ShmCollective, ExchangeWorksWithSelectedPeers) {
  for (int size : {2, 3, 5}) {
    on_segment_members(size, [size](Comm& comm) {
      const int rank = comm.rank();
      const std::vector<int> steps = {1, 0, 2, 1};
      const auto message = [&](int from, std::size_t number) {
        return values(10 * from + static_cast<int>(number), from == size - 1 ? 100 : number + 1);
      };
      for (int repetition = 0; repetition < 3; ++repetition) {
        std::vector<Items> given, got;
        for (std::size_t i = 0; i < steps.size(); ++i) {
          given.push_back(message(rank, i));
          got.push_back(untouched(message((rank + size - steps[i] % size) % size, i).size()));
        }
        std::vector<OutgoingBlock> out_to;
        std::vector<IncomingBlock> in_from;
        for (std::size_t i = 0; i < steps.size(); ++i) {
          out_to.push_back({out(given[i]), (rank + steps[i]) % size});
          in_from.push_back({in(got[i]), (rank + size - steps[i] % size) % size});
        }
        ASSERT_TRUE(run(comm, exchange(CollSeq::blocking(comm), out_to, in_from)));
        for (std::size_t i = 0; i < steps.size(); ++i)
          ASSERT_EQ(got[i], message((rank + size - steps[i] % size) % size, i)) << i;
      }
    });
  }
}

TEST(ShmCollective, MissingPartIsReported) {
  on_members(2, true, [](Comm& comm, p2p::World&) {
    Items given = values(comm.rank(), 1), got = untouched(2);
    const int other = 1 - comm.rank();
    std::vector<OutgoingBlock> out_to = {{out(given), other}};
    std::vector<IncomingBlock> in_from = {{{got.data(), 1, &int64_type()}, other}};
    if (comm.rank() == 1) in_from.push_back({{got.data() + 1, 1, &int64_type()}, other});
    const auto done = run(comm, exchange(CollSeq::blocking(comm), out_to, in_from));
    EXPECT_EQ(got[0], values(other, 1)[0]);
    ASSERT_EQ(done.has_value(), comm.rank() == 0);
    if (!done) {
      EXPECT_EQ(done.error().error_class(), ErrorClass::truncate) << done.error().text();
    }
  });
}

TEST(ShmCollective, WorksWithTypesWithHoles) {
  on_segment_members(4, [](Comm& comm) {
    const types::Type every_second = p2p::value_of(types::vector(3, 1, 16, int64_type()));
    Items sparse = untouched(6), dense = untouched(3);
    for (std::size_t i = 0; i < 3; ++i) sparse[2 * i] = value_at(1, i);
    ASSERT_TRUE(run(comm, comm.rank() == 1
                              ? bcast(CollSeq::blocking(comm), {sparse.data(), 1, &every_second}, 1)
                              : bcast(CollSeq::blocking(comm), in(dense), 1)));
    if (comm.rank() != 1) {
      ASSERT_EQ(dense, values(1, 3));
    }
    Items holes = untouched(24);
    const Items mine = values(comm.rank(), 3);
    ASSERT_TRUE(
        run(comm, allgather(CollSeq::blocking(comm), out(mine), {holes.data(), 1, &every_second})));
    for (int from = 0; from < 4; ++from)
      for (std::size_t i = 0; i < 3; ++i)
        ASSERT_EQ(holes[static_cast<std::size_t>(from * every_second.extent / 8) + 2 * i],
                  value_at(from, i));
  });
}

// Inline slots are reused many times, by members that are early or late in turn, with collectives
// by messages in between.
TEST(ShmCollective, WorksManyTimesInARow) {
  for (int size : {2, 3, 6}) {
    on_segment_members(size, [size](Comm& comm) {
      std::mt19937 random(static_cast<unsigned>(comm.rank()));
      for (int i = 0; i < 2000; ++i) {
        if (random() % 64 == 0) std::this_thread::yield();
        const int root = i % size;
        Items data = comm.rank() == root ? values(i, 3) : untouched(3), own = {i + comm.rank()},
              total = {0};
        ASSERT_TRUE(run(comm, bcast(CollSeq::blocking(comm), in(data), root)));
        ASSERT_EQ(data, values(i, 3)) << i;
        if (i % 7 == 0) {
          Items by_messages = comm.rank() == root ? values(i, 2) : untouched(2);
          ASSERT_TRUE(run(comm, bcast(comm, in(by_messages), root)));
          ASSERT_EQ(by_messages, values(i, 2));
        }
        if (i % 5 == 0) {
          ASSERT_TRUE(run(comm, reduce(CollSeq::blocking(comm), out(own), total.data(), 1,
                                       int64_type(), sum(), root)));
          ASSERT_EQ(total[0], comm.rank() == root ? size * i + size * (size - 1) / 2 : 0);
        }
      }
    });
  }
}

// The root needs no reader until the inline slots are used up; then it waits for the slowest
// reader.
TEST(ShmCollective, SenderRunsAheadUntilSlotsAreUsedUp) {
  std::atomic<int> given{0};
  on_segment_members(2, [&](Comm& comm) {
    ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
    constexpr int kInlineSlots = static_cast<int>(node::ShmCollMemberArea::kInlineSlots);
    for (int i = 0; i < 3 * kInlineSlots; ++i) {
      Items data = comm.rank() == 0 ? values(i, 1) : untouched(1);
      // acquire and release: a thread that sees the number also sees the completed broadcasts
      if (comm.rank() == 1 && i == 0)
        while (given.load(std::memory_order_acquire) < kInlineSlots / 2) std::this_thread::yield();
      if (comm.rank() == 1) {
        ASSERT_LE(given.load(std::memory_order_acquire), i + kInlineSlots);
      }
      ASSERT_TRUE(run(comm, bcast(CollSeq::blocking(comm), in(data), 0)));
      if (comm.rank() == 0) given.store(i + 1, std::memory_order_release);
      ASSERT_EQ(data, values(i, 1));
    }
  });
}

TEST(ShmCollective, LengthMismatchIsReportedWithoutHang) {
  // one member's length differs, below and above the capacity of the segment's buffers
  for (const auto& [usual, other] :
       {std::pair(4, 2), std::pair(2, 4), std::pair(4, 200), std::pair(200, 4)}) {
    SCOPED_TRACE(std::to_string(usual) + " items, at one member " + std::to_string(other));
    for (int root : {0, 1}) {
      on_members(3, true, [&, usual = usual, other = other](Comm& comm, p2p::World&) {
        const auto count = static_cast<std::uint64_t>(comm.rank() == 1 ? other : usual);
        Items own = values(comm.rank(), 200), result = untouched(600);
        const auto given = run(
            comm, bcast(CollSeq::blocking(comm), {own.data(), count, &int64_type()}, root));
        EXPECT_EQ(given.has_value(), comm.rank() == root || (root == 0 && comm.rank() != 1))
            << "bcast, rank " << comm.rank();
      });
      on_members(3, true, [&, usual = usual, other = other](Comm& comm, p2p::World&) {
        const auto count = static_cast<std::uint64_t>(comm.rank() == 1 ? other : usual);
        Items own = values(comm.rank(), 200), result = untouched(600);
        const auto gathered = run(
            comm, gather(CollSeq::blocking(comm), {own.data(), count, &int64_type()},
                         {result.data(), count, &int64_type()}, root));
        if (comm.rank() == root) {
          ASSERT_FALSE(gathered) << root;
          EXPECT_EQ(gathered.error().error_class(), ErrorClass::truncate)
              << gathered.error().text();
        }
      });
      on_members(3, true, [&, usual = usual, other = other](Comm& comm, p2p::World&) {
        const auto count = static_cast<std::uint64_t>(comm.rank() == 1 ? other : usual);
        Items own = values(comm.rank(), 200), result = untouched(600);
        const auto summed = run(
            comm, allreduce(CollSeq::blocking(comm), {own.data(), count, &int64_type()},
                            result.data(), count, int64_type(), sum()));
        ASSERT_FALSE(summed) << comm.rank();
        EXPECT_EQ(summed.error().error_class(), ErrorClass::truncate) << summed.error().text();
      });
    }
  }
}

TEST(ShmCollective, DeadMemberIsNamedInTheError) {
  on_members(3, true, [](Comm& comm, p2p::World& world) {
    ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
    if (comm.rank() == 1) return world.kill(1);
    const auto barrier_result = run(comm, barrier(CollSeq::blocking(comm)));
    ASSERT_FALSE(barrier_result);
    EXPECT_EQ(barrier_result.error().error_class(), ErrorClass::proc_aborted);
    EXPECT_NE(barrier_result.error().text().find("process 1"), std::string::npos)
        << barrier_result.error().text();
  });
}

TEST(ShmCollective, FallsBackToMessagesIfNoSegmentIsFree) {
  const auto segment = std::make_shared<AnonymousSegment>(2, transport::shm_slot_bytes(2), 64,
                                                          ShmCollSegments::store_bytes());
  AnonymousArea area(segment, 0);
  ShmCollSegments all(area);
  const std::array<std::uint32_t, 2> members{0, 1};
  while (all.allocate(members)) {
  }
  p2p::World world({.processes = 2, .settings = p2p::World::quick()});
  auto contexts = world.contexts();
  world.run([&](int rank) {
    NodeLocality locality(segment, rank);
    Comm comm(world.engine(rank), *contexts[n(rank)], std::make_shared<ScratchPool>(), rank, 2,
              nullptr, &locality);
    agree_on_coll_segment(comm);
    Items own = values(rank, 3), all_of_it = untouched(6);
    ASSERT_TRUE(run(
        comm, allgather(CollSeq::blocking(comm), out(own), {all_of_it.data(), 3, &int64_type()})));
    ASSERT_EQ(Items(all_of_it.begin() + 3, all_of_it.end()), values(1, 3));
    ASSERT_EQ(comm.shm_coll_state().handle, nullptr);
  });
}

}  // namespace
}  // namespace shim::coll
