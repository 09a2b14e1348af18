// SPDX-License-Identifier: BSD-3-Clause
// Two members that give to each other what is too long for a board: both at the same time, each over a belt of its own.
#include <cstring>
#include <thread>

#include "shim/types/derive.hpp"
#include "tests/coll/meeting_rig.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;

/// The block of each member for this one: what `of` gives to `to` begins at its items.
Items block(int of, int to, std::uint64_t count) { return values(of, count, static_cast<std::uint64_t>(to) * count); }
Items joined(Items first, const Items& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
bool has_belt(Comm& comm) { return comm.meeting_place().board->has_belt(comm.rank()); }

TEST(ExchangeOfTwo, AlltoallOfAllLengths) {
  at_boards(2, [](Comm& comm) {
    const int me = comm.rank();
    for (std::uint64_t count : kBeltLengths) {
      for (bool in_place : {false, true, false}) {
        Items given = joined(block(me, 0, count), block(me, 1, count));
        Items got = in_place ? given : untouched(2 * count);
        ASSERT_TRUE(run(comm, alltoall(Turn::blocking(comm), in_place ? kInPlace : types::ConstBuffer{given.data(), count, &int64_type()},
                                       {got.data(), count, &int64_type()})));
        ASSERT_EQ(got, joined(block(0, me, count), block(1, me, count))) << count << (in_place ? " in place" : "");
      }
    }
    ASSERT_TRUE(has_belt(comm)) << "nothing went over a belt";
  });
}

TEST(ExchangeOfTwo, AllgatherOfAllLengths) {
  at_boards(2, [](Comm& comm) {
    const int me = comm.rank();
    for (std::uint64_t count : kBeltLengths) {
      for (bool in_place : {false, true}) {
        Items own = values(me, count), all = untouched(2 * count);
        if (in_place) std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(count) * me);
        ASSERT_TRUE(run(comm, allgather(Turn::blocking(comm), in_place ? kInPlace : out(own), {all.data(), count, &int64_type()})));
        ASSERT_EQ(all, joined(values(0, count), values(1, count))) << count << (in_place ? " in place" : "");
      }
    }
    ASSERT_TRUE(has_belt(comm)) << "nothing went over a belt";
  });
}

// What one gives may be long, short or nothing while the other gives something else.
TEST(ExchangeOfTwo, AlltoallvOfUnequalLengths) {
  at_boards(2, [](Comm& comm) {
    const int me = comm.rank();
    const std::uint64_t lengths[] = {0, 1, 136, 137, kPiece + 1, 2 * kBelt + 3};
    for (std::uint64_t up : lengths) {
      for (std::uint64_t down : lengths) {
        const std::uint64_t mine = me == 0 ? up : down, theirs = me == 0 ? down : up;
        const Items given = joined(values(me, 3), values(me + 2, mine));
        Items got = untouched(3 + theirs);
        std::vector<std::int64_t> give(2), take(2), places(2);
        give[n(me)] = take[n(me)] = 3;
        give[n(1 - me)] = static_cast<std::int64_t>(mine);
        take[n(1 - me)] = static_cast<std::int64_t>(theirs);
        places[n(me)] = 0;
        places[n(1 - me)] = 3;
        ASSERT_TRUE(run(comm, alltoallv(Turn::blocking(comm), given.data(), {give, places}, &int64_type(), got.data(), {take, places}, int64_type())));
        ASSERT_EQ(got, joined(values(me, 3), values(1 - me + 2, theirs))) << up << " up and " << down << " down";
      }
    }
  });
}

// Of a member that has laid all it gives before it takes anything, no more is taken than its own belt lets the other one lay: what is still to be
// laid would be written over.
TEST(ExchangeOfTwo, InPlaceNothingIsWrittenOverWhatIsStillToBeLaid) {
  constexpr std::uint64_t kCount = kBelt + 2 * kPiece, kBytes = 8 * kCount;
  at_boards(2, [](Comm& comm) {
    if (comm.rank() == 0) {
      Items both = joined(block(0, 0, kCount), block(0, 1, kCount));
      ASSERT_TRUE(run(comm, alltoall(Turn::blocking(comm), kInPlace, {both.data(), kCount, &int64_type()})));
      ASSERT_EQ(both, joined(block(0, 0, kCount), block(1, 0, kCount)));
      return;
    }
    transport::Board& board = *comm.meeting_place().board;
    const Items given = block(1, 0, kCount);
    Items got = untouched(kCount);
    ASSERT_TRUE(board.put_up_on_belt(1, kBytes));
    for (Laying laying(board, 1, out(given), base::Traffic::both_ways); !laying.is_over(); laying.lay())
      while (!laying.has_room(0)) std::this_thread::yield();
    for (int i = 0; i < 10'000; ++i) std::this_thread::yield();  // the other takes what it may
    while (!board.find(0)) std::this_thread::yield();
    const auto put = [&](std::uint64_t first, ConstBytes bytes) { std::memcpy(data_of(got) + first, bytes.data(), bytes.size()); };
    for (Taking taking(board, 0, *board.find(0)->on_belt, kBytes, put); !taking.is_over(); taking.take())
      while (!taking.has_next()) std::this_thread::yield();
    board.end();
    ASSERT_EQ(got, block(0, 1, kCount));
  });
}

TEST(ExchangeOfTwo, TypesWithHoles) {
  at_boards(2, [](Comm& comm) {
    const int me = comm.rank();
    const std::uint64_t count = 2 * kPiece + 3;
    const types::Type every_second = p2p::value_of(types::vector(static_cast<std::int64_t>(count), 1, 16, int64_type()));
    Items sparse = untouched(2 * count), got = untouched(2 * count);
    for (std::size_t i = 0; i < count; ++i) sparse[2 * i] = value_at(me, i);
    const types::ConstBuffer given = me == 0 ? types::ConstBuffer{sparse.data(), 1, &every_second} : types::ConstBuffer{};
    const Items dense = values(me, count);
    ASSERT_TRUE(run(comm, allgather(Turn::blocking(comm), me == 0 ? given : out(dense), {got.data(), count, &int64_type()})));
    ASSERT_EQ(got, joined(values(0, count), values(1, count)));
  });
}

TEST(ExchangeOfTwo, WithoutMemoryMessagesDo) {
  for (int poor : {0, 1}) {
    on_members_of_node(2, true, [poor](Comm& comm, p2p::World&, Together& together) {
      const int me = comm.rank();
      if (me == poor) together.refuse_memory();
      for (bool in_place : {false, true}) {
        const std::uint64_t count = kBelt + 3;
        Items given = joined(block(me, 0, count), block(me, 1, count));
        Items got = in_place ? given : untouched(2 * count);
        ASSERT_TRUE(run(comm, alltoall(Turn::blocking(comm), in_place ? kInPlace : types::ConstBuffer{given.data(), count, &int64_type()},
                                       {got.data(), count, &int64_type()})));
        ASSERT_EQ(got, joined(block(0, me, count), block(1, me, count))) << (in_place ? "in place" : "");
      }
      ASSERT_EQ(has_belt(comm), me != poor);
    });
  }
}

base::Status give_and_take(Comm& comm, std::uint64_t count) {
  Items given = values(comm.rank(), 2 * count), got = untouched(2 * count);
  return run(comm, alltoall(Turn::blocking(comm), {given.data(), count, &int64_type()}, {got.data(), count, &int64_type()}));
}

/// So many exchanges of a length come before the first one of it in which the first member gives by messages; in the next both do.
constexpr std::uint32_t kBeforeMessages = Comm::MeetingPlace::kFewest + 1;

TEST(ExchangeOfTwo, MessagesAreTriedAndBringTheSame) {
  at_boards(2, [](Comm& comm) {
    const int me = comm.rank();
    for (std::uint32_t i = 0; i < kBeforeMessages + 20; ++i) {
      const Items given = joined(block(me, 0, kPiece), block(me, 1, kPiece));
      Items got = untouched(2 * kPiece);
      const std::uint64_t sent = comm.engine().counts().rendezvous_sent;
      ASSERT_TRUE(run(comm, alltoall(Turn::blocking(comm), {given.data(), kPiece, &int64_type()}, {got.data(), kPiece, &int64_type()})));
      ASSERT_EQ(got, joined(block(0, me, kPiece), block(1, me, kPiece))) << i;
      const bool is_by_message = comm.engine().counts().rendezvous_sent != sent;
      const std::uint32_t first = kBeforeMessages + static_cast<std::uint32_t>(me);
      ASSERT_TRUE(i > first || is_by_message == (i == first)) << i;
    }
  });
}

// Nobody is there to follow, whoever it is that gives what is long.
TEST(ExchangeOfTwo, WhoAloneGivesWhatIsLongTriesMessagesToo) {
  for (const int giver : {0, 1}) {
    at_boards(2, [giver](Comm& comm) {
      const int me = comm.rank();
      bool by_messages = false;
      for (std::uint32_t i = 0; i < kBeforeMessages + 8; ++i) {
        std::vector<std::int64_t> give(2), take(2), places(2);
        give[n(1 - me)] = me == giver ? static_cast<std::int64_t>(kPiece) : 1;
        take[n(1 - me)] = me == giver ? 1 : static_cast<std::int64_t>(kPiece);
        const Items given = values(me, kPiece);
        Items got = untouched(kPiece);
        const std::uint64_t sent = comm.engine().counts().rendezvous_sent;
        ASSERT_TRUE(run(comm, alltoallv(Turn::blocking(comm), given.data(), {give, places}, &int64_type(), got.data(), {take, places}, int64_type())));
        Items expected = untouched(kPiece);
        const Items others = values(1 - me, kPiece);
        std::copy_n(others.begin(), take[n(1 - me)], expected.begin());
        ASSERT_EQ(got, expected) << i;
        by_messages = by_messages || comm.engine().counts().rendezvous_sent != sent;
      }
      EXPECT_EQ(by_messages, me == giver);
    });
  }
}

/// Others' lengths are reported, and what comes next is right.
void expect_truncate_and_go_on(Comm& comm, const base::Status& result) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error_class(), ErrorClass::truncate) << result.error().text();
  Items data = values(comm.rank(), kPiece), all = untouched(2 * kPiece);
  ASSERT_TRUE(run(comm, allgather(Turn::blocking(comm), out(data), {all.data(), kPiece, &int64_type()})));
  ASSERT_EQ(all, joined(values(0, kPiece), values(1, kPiece)));
}

// Whoever takes another length than is given says so, and nobody waits: over belts, and where messages are tried.
TEST(ExchangeOfTwo, OtherLengthsAreReportedAndLeaveNobodyWaiting) {
  for (const std::uint32_t before : {0u, kBeforeMessages, kBeforeMessages + 1}) {
    for (const auto& [usual, other] : {std::pair{2 * kPiece, std::uint64_t{2}}, {std::uint64_t{2}, 2 * kPiece}, {kPiece, 2 * kPiece},
                                       {2 * kPiece, kPiece}, {2 * kBelt, std::uint64_t{2}}, {2 * kBelt, kPiece}}) {
      SCOPED_TRACE(std::to_string(usual) + " items, of one member " + std::to_string(other) + ", after " + std::to_string(before));
      at_boards(2, [&, usual = usual, other = other](Comm& comm) {
        for (std::uint32_t i = 0; i < before; ++i) ASSERT_TRUE(give_and_take(comm, std::max(usual, other)));
        expect_truncate_and_go_on(comm, give_and_take(comm, comm.rank() == 1 ? other : usual));
      });
    }
  }
}

TEST(ExchangeOfTwo, WhatIsLongWhereOthersExpectLittleIsReported) {
  for (const std::uint32_t before : {0u, kBeforeMessages, kBeforeMessages + 1}) {
    for (const std::uint64_t expected : {0, 2}) {
      SCOPED_TRACE(std::to_string(expected) + " items expected, after " + std::to_string(before));
      at_boards(2, [&](Comm& comm) {
        const int me = comm.rank();
        for (std::uint32_t i = 0; i < before; ++i) ASSERT_TRUE(give_and_take(comm, kPiece));
        // the second gives a piece, of which the first knows nothing
        std::vector<std::int64_t> give(2), take(2), places(2);
        give[n(1 - me)] = me == 1 ? static_cast<std::int64_t>(kPiece) : 0;
        take[n(1 - me)] = me == 0 ? static_cast<std::int64_t>(expected) : 0;
        const Items given = values(me, kPiece);
        Items got = untouched(kPiece);
        const auto result = run(comm, alltoallv(Turn::blocking(comm), given.data(), {give, places}, &int64_type(), got.data(), {take, places}, int64_type()));
        if (me == 0) return expect_truncate_and_go_on(comm, result);
        ASSERT_TRUE(result) << result.error().text();
        Items data = values(me, kPiece), all = untouched(2 * kPiece);
        ASSERT_TRUE(run(comm, allgather(Turn::blocking(comm), out(data), {all.data(), kPiece, &int64_type()})));
      });
    }
  }
}

TEST(ExchangeOfTwo, AllgathersOfOtherLengthsLeaveNobodyWaiting) {
  for (const std::uint32_t before : {0u, kBeforeMessages, kBeforeMessages + 1}) {
    SCOPED_TRACE("after " + std::to_string(before));
    at_boards(2, [&](Comm& comm) {
      for (std::uint32_t i = 0; i < before; ++i) ASSERT_TRUE(give_and_take(comm, kPiece));
      const std::uint64_t count = comm.rank() == 0 ? kPiece : 2;
      Items data = values(comm.rank(), count), all = untouched(2 * count);
      expect_truncate_and_go_on(comm, run(comm, allgather(Turn::blocking(comm), out(data), {all.data(), count, &int64_type()})));
    });
  }
}

TEST(ExchangeOfTwo, AMemberThatDiesIsNamed) {
  on_members(2, true, [](Comm& comm, p2p::World& world) {
    ASSERT_TRUE(run(comm, barrier(Turn::blocking(comm))));
    if (comm.rank() == 1) return world.kill(1);
    Items own = values(0, 2 * kBelt), all = untouched(4 * kBelt);
    const auto given = run(comm, allgather(Turn::blocking(comm), out(own), {all.data(), 2 * kBelt, &int64_type()}));
    ASSERT_FALSE(given);
    EXPECT_EQ(given.error().error_class(), ErrorClass::proc_aborted) << given.error().text();
  });
}

}  // namespace
}  // namespace shim::coll
