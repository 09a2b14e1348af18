// SPDX-License-Identifier: BSD-3-Clause
// Tests exchanges between two members of data too long for inline slots and medium buffers: both
// members send at the same time, each over its own broadcast ring.
#include <array>
#include <cstring>
#include <thread>

#include "shim/types/type_constructors.hpp"
#include "tests/coll/shm_collective_rig.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;

/// Return the block of member `of` for member `to`.
Items block(int of, int to, std::uint64_t count) {
  return values(of, count, static_cast<std::uint64_t>(to) * count);
}
Items joined(Items first, const Items& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
bool has_pipeline_ring(Comm& comm) {
  return comm.shm_coll_state().handle->has_pipeline_ring(comm.rank());
}

/// A table by which two members exchange data of at least `min_bytes` by messages.
AlgorithmTable messages_from(std::uint64_t min_bytes) {
  const When when{.min_bytes = min_bytes, .max_size = 2};
  AlgorithmTable table = default_table();
  table.allgather.add({"messages", SegmentPath::messages, when});
  table.alltoall.add({"messages", SegmentPath::messages, when});
  table.alltoallv.add({"messages", SegmentPath::messages, when});
  return table;
}

/// Run body(comm) for both members.
template <typename Body>
void on_pair(const AlgorithmTable& table, const Body& body) {
  on_members_of_node(
      2, true, [&](Comm& comm, p2p::World&, NodeLocality&) { body(comm); }, table);
}

/// Tables without messages, and with messages for all data that is longer than a medium buffer.
std::array<AlgorithmTable, 2> both_ways() {
  return {messages_from(UINT64_MAX), messages_from(node::kMediumBufferBytes + 1)};
}

TEST(PairExchange, AlltoallWorksWithAllLengths) {
  on_segment_members(2, [](Comm& comm) {
    const int me = comm.rank();
    for (std::uint64_t count : kPipelineLengths) {
      for (bool in_place : {false, true, false}) {
        Items given = joined(block(me, 0, count), block(me, 1, count));
        Items got = in_place ? given : untouched(2 * count);
        ASSERT_TRUE(run(
            comm,
            alltoall(CollSeq::blocking(comm),
                     in_place ? kInPlace : types::ConstBuffer{given.data(), count, &int64_type()},
                     {got.data(), count, &int64_type()})));
        ASSERT_EQ(got, joined(block(0, me, count), block(1, me, count)))
            << count << (in_place ? " in place" : "");
      }
    }
    ASSERT_TRUE(has_pipeline_ring(comm)) << "no data used a broadcast ring";
  });
}

TEST(PairExchange, AllgatherWorksWithAllLengths) {
  on_segment_members(2, [](Comm& comm) {
    const int me = comm.rank();
    for (std::uint64_t count : kPipelineLengths) {
      for (bool in_place : {false, true}) {
        Items own = values(me, count), all = untouched(2 * count);
        if (in_place)
          std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(count) * me);
        ASSERT_TRUE(run(comm, allgather(CollSeq::blocking(comm), in_place ? kInPlace : out(own),
                                        {all.data(), count, &int64_type()})));
        ASSERT_EQ(all, joined(values(0, count), values(1, count)))
            << count << (in_place ? " in place" : "");
      }
    }
    ASSERT_TRUE(has_pipeline_ring(comm)) << "no data used a broadcast ring";
  });
}

// The data of one member may be long, short or empty, independently of the other's.
void exchange_unequal_lengths(const AlgorithmTable& table) {
  on_pair(table, [](Comm& comm) {
    const int me = comm.rank();
    const std::uint64_t lengths[] = {0, 1, 136, 137, kChunkItems + 1, 2 * kRingItems + 3};
    for (std::uint64_t up : lengths) {
      for (std::uint64_t down : lengths) {
        const std::uint64_t mine = me == 0 ? up : down, theirs = me == 0 ? down : up;
        const Items given = joined(values(me, 3), values(me + 2, mine));
        Items got = untouched(3 + theirs);
        std::vector<std::int64_t> give(2), take(2), offsets(2);
        give[n(me)] = take[n(me)] = 3;
        give[n(1 - me)] = static_cast<std::int64_t>(mine);
        take[n(1 - me)] = static_cast<std::int64_t>(theirs);
        offsets[n(me)] = 0;
        offsets[n(1 - me)] = 3;
        ASSERT_TRUE(run(comm, alltoallv(CollSeq::blocking(comm), given.data(), {give, offsets},
                                        &int64_type(), got.data(), {take, offsets}, int64_type())));
        ASSERT_EQ(got, joined(values(me, 3), values(1 - me + 2, theirs)))
            << up << " up and " << down << " down";
      }
    }
  });
}

TEST(PairExchange, AlltoallvWorksWithUnequalLengths) { exchange_unequal_lengths(default_table()); }

TEST(PairExchange, LongDataByMessagesMayMeetDataInARing) {
  exchange_unequal_lengths(messages_from(8 * kRingItems));
}

TEST(PairExchange, LongDataByMessagesMayMeetDataInTheSegment) {
  exchange_unequal_lengths(messages_from(node::kMediumBufferBytes + 1));
}

// Member 1 produces all its data before it consumes any. Member 0, in place, must not consume more
// than it has produced itself: otherwise it would overwrite data that it has not sent yet.
TEST(PairExchange, InPlaceDoesNotOverwriteUnsentData) {
  constexpr std::uint64_t kCount = kRingItems + 2 * kChunkItems, kBytes = 8 * kCount;
  on_segment_members(2, [](Comm& comm) {
    if (comm.rank() == 0) {
      Items both = joined(block(0, 0, kCount), block(0, 1, kCount));
      ASSERT_TRUE(run(
          comm, alltoall(CollSeq::blocking(comm), kInPlace, {both.data(), kCount, &int64_type()})));
      ASSERT_EQ(both, joined(block(0, 0, kCount), block(1, 0, kCount)));
      return;
    }
    node::ShmCollHandle& handle = *comm.shm_coll_state().handle;
    const Items given = block(1, 0, kCount);
    Items got = untouched(kCount);
    ASSERT_TRUE(handle.publish_pipeline(1, kBytes));
    for (PipelineWriter writer(handle, 1, out(given), base::Traffic::both_ways); !writer.is_over();
         writer.produce())
      while (!writer.has_space(0)) std::this_thread::yield();
    for (int i = 0; i < 10'000; ++i)
      std::this_thread::yield();  // member 0 consumes as much as it may
    while (!handle.contribution_of(0)) std::this_thread::yield();
    const auto put = [&](std::uint64_t first, ConstBytes bytes) {
      std::memcpy(data_of(got) + first, bytes.data(), bytes.size());
    };
    for (PipelineReader reader(handle, 0, *handle.contribution_of(0)->pipelined, kBytes, put);
         !reader.is_over(); reader.consume())
      while (!reader.has_next()) std::this_thread::yield();
    handle.end_round();
    ASSERT_EQ(got, block(0, 1, kCount));
  });
}

TEST(PairExchange, WorksWithTypesWithHoles) {
  on_segment_members(2, [](Comm& comm) {
    const int me = comm.rank();
    const std::uint64_t count = 2 * kChunkItems + 3;
    const types::Type every_second = p2p::value_of(
        types::vector(static_cast<std::int64_t>(count), 1, 16, int64_type()));
    Items sparse = untouched(2 * count), got = untouched(2 * count);
    for (std::size_t i = 0; i < count; ++i) sparse[2 * i] = value_at(me, i);
    const types::ConstBuffer given = me == 0 ? types::ConstBuffer{sparse.data(), 1, &every_second}
                                             : types::ConstBuffer{};
    const Items dense = values(me, count);
    ASSERT_TRUE(run(comm, allgather(CollSeq::blocking(comm), me == 0 ? given : out(dense),
                                    {got.data(), count, &int64_type()})));
    ASSERT_EQ(got, joined(values(0, count), values(1, count)));
  });
}

TEST(PairExchange, FallsBackToMessagesWithoutMemory) {
  for (int poor : {0, 1}) {
    on_members_of_node(2, true, [poor](Comm& comm, p2p::World&, NodeLocality& locality) {
      const int me = comm.rank();
      if (me == poor) locality.refuse_memory();
      for (bool in_place : {false, true}) {
        const std::uint64_t count = kRingItems + 3;
        Items given = joined(block(me, 0, count), block(me, 1, count));
        Items got = in_place ? given : untouched(2 * count);
        ASSERT_TRUE(run(
            comm,
            alltoall(CollSeq::blocking(comm),
                     in_place ? kInPlace : types::ConstBuffer{given.data(), count, &int64_type()},
                     {got.data(), count, &int64_type()})));
        ASSERT_EQ(got, joined(block(0, me, count), block(1, me, count)))
            << (in_place ? "in place" : "");
      }
      ASSERT_EQ(has_pipeline_ring(comm), me != poor);
    });
  }
}

base::Status exchange_items(Comm& comm, std::uint64_t count) {
  Items given = values(comm.rank(), 2 * count), got = untouched(2 * count);
  return run(comm, alltoall(CollSeq::blocking(comm), {given.data(), count, &int64_type()},
                            {got.data(), count, &int64_type()}));
}

TEST(PairExchange, RowSelectsMessages) {
  on_pair(messages_from(8 * kChunkItems), [](Comm& comm) {
    const int me = comm.rank();
    for (const std::uint64_t count : {kChunkItems, kChunkItems - 1}) {
      const Items given = joined(block(me, 0, count), block(me, 1, count));
      Items got = untouched(2 * count);
      const std::uint64_t sent = comm.engine().counts().rendezvous_sent;
      ASSERT_TRUE(run(comm, alltoall(CollSeq::blocking(comm), {given.data(), count, &int64_type()},
                                     {got.data(), count, &int64_type()})));
      ASSERT_EQ(got, joined(block(0, me, count), block(1, me, count)));
      ASSERT_EQ(comm.engine().counts().rendezvous_sent != sent, count == kChunkItems);
    }
  });
}

/// Check that the mismatch is reported, and that the next collective works.
void expect_truncate_then_success(Comm& comm, const base::Status& result) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error_class(), ErrorClass::truncate) << result.error().text();
  Items data = values(comm.rank(), kChunkItems), all = untouched(2 * kChunkItems);
  ASSERT_TRUE(run(comm, allgather(CollSeq::blocking(comm), out(data),
                                  {all.data(), kChunkItems, &int64_type()})));
  ASSERT_EQ(all, joined(values(0, kChunkItems), values(1, kChunkItems)));
}

// A member that receives another length than expected reports an error, and no member hangs: with
// broadcast rings, and by messages.
TEST(PairExchange, LengthMismatchIsReportedWithoutHang) {
  for (const AlgorithmTable& table : both_ways()) {
    for (const auto& [usual, other] : {std::pair{2 * kChunkItems, std::uint64_t{2}},
                                       {std::uint64_t{2}, 2 * kChunkItems},
                                       {kChunkItems, 2 * kChunkItems},
                                       {2 * kChunkItems, kChunkItems},
                                       {2 * kRingItems, std::uint64_t{2}},
                                       {2 * kRingItems, kChunkItems}}) {
      SCOPED_TRACE(std::to_string(usual) + " items, at one member " + std::to_string(other));
      on_pair(table, [&, usual = usual, other = other](Comm& comm) {
        expect_truncate_then_success(comm, exchange_items(comm, comm.rank() == 1 ? other : usual));
      });
    }
  }
}

TEST(PairExchange, LongerContributionThanExpectedIsReported) {
  for (const AlgorithmTable& table : both_ways()) {
    for (const std::uint64_t expected : {0, 2}) {
      SCOPED_TRACE(std::to_string(expected) + " items expected");
      on_pair(table, [&](Comm& comm) {
        const int me = comm.rank();
        // the second member sends a chunk that the first does not expect
        std::vector<std::int64_t> give(2), take(2), offsets(2);
        give[n(1 - me)] = me == 1 ? static_cast<std::int64_t>(kChunkItems) : 0;
        take[n(1 - me)] = me == 0 ? static_cast<std::int64_t>(expected) : 0;
        const Items given = values(me, kChunkItems);
        Items got = untouched(kChunkItems);
        const auto result = run(
            comm, alltoallv(CollSeq::blocking(comm), given.data(), {give, offsets}, &int64_type(),
                            got.data(), {take, offsets}, int64_type()));
        if (me == 0) return expect_truncate_then_success(comm, result);
        ASSERT_TRUE(result) << result.error().text();
        Items data = values(me, kChunkItems), all = untouched(2 * kChunkItems);
        ASSERT_TRUE(run(comm, allgather(CollSeq::blocking(comm), out(data),
                                        {all.data(), kChunkItems, &int64_type()})));
      });
    }
  }
}

TEST(PairExchange, AllgatherLengthMismatchDoesNotHang) {
  for (const AlgorithmTable& table : both_ways()) {
    on_pair(table, [&](Comm& comm) {
      const std::uint64_t count = comm.rank() == 0 ? kChunkItems : 2;
      Items data = values(comm.rank(), count), all = untouched(2 * count);
      expect_truncate_then_success(comm, run(comm, allgather(CollSeq::blocking(comm), out(data),
                                                             {all.data(), count, &int64_type()})));
    });
  }
}

TEST(PairExchange, DeadMemberIsNamedInTheError) {
  on_members(2, true, [](Comm& comm, p2p::World& world) {
    ASSERT_TRUE(run(comm, barrier(CollSeq::blocking(comm))));
    if (comm.rank() == 1) return world.kill(1);
    Items own = values(0, 2 * kRingItems), all = untouched(4 * kRingItems);
    const auto given = run(comm, allgather(CollSeq::blocking(comm), out(own),
                                           {all.data(), 2 * kRingItems, &int64_type()}));
    ASSERT_FALSE(given);
    EXPECT_EQ(given.error().error_class(), ErrorClass::proc_aborted) << given.error().text();
  });
}

}  // namespace
}  // namespace shim::coll
