// SPDX-License-Identifier: BSD-3-Clause
// Tests how tasks of collectives run and end: blocking in threads, concurrent, persistent, with
// errors, and destroyed before their end.
#include <thread>

#include "shim/coll/execution.hpp"
#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

const types::Op& sum() { return types::predefined(types::Operator::sum); }

TEST(Run, BlockingCallsWorkInOneThreadEach) {
  for (int size : {2, 5, 16}) {
    Rig rig(size);
    rig.world().run([&](int rank) {
      Comm& comm = rig.comm(rank);
      for (std::uint64_t round = 0; round < 20; ++round) {
        std::uint64_t count = round * 37;
        Items own = values(rank, count), total(count);
        ASSERT_TRUE(run(comm, allreduce(comm, out(own), total.data(), count, int64_type(), sum())));
        ASSERT_EQ(total, summed(0, size - 1, count));
        ASSERT_TRUE(run(comm, barrier(comm)));
        ASSERT_TRUE(run(comm, bcast(comm, in(total), static_cast<int>(round) % size)));
      }
    });
  }
}

// Messages of concurrent collectives must not be confused: all members start three before any ends.
TEST(Start, SeveralCollectivesAreInFlight) {
  Rig rig(5, troubled(3));
  std::vector<Items> a(5), b(5), own;
  std::vector<p2p::Request*> requests;
  for (int rank = 0; rank < 5; ++rank) own.push_back(values(rank, 500));
  for (int rank = 0; rank < 5; ++rank) {
    auto i = static_cast<std::size_t>(rank);
    a[i].resize(500);
    b[i] = rank == 2 ? values(77, 900) : untouched(900);
    Comm& comm = rig.comm(rank);
    requests.push_back(p2p::value_of(
        start(comm, allreduce(comm, out(own[i]), a[i].data(), 500, int64_type(), sum()))));
    requests.push_back(p2p::value_of(start(comm, bcast(comm, in(b[i]), 2))));
    requests.push_back(p2p::value_of(start(comm, barrier(comm))));
  }
  ASSERT_TRUE(rig.world().step_until([&] {
    return std::all_of(requests.begin(), requests.end(),
                       [](p2p::Request* request) { return request->is_done(); });
  }));
  for (std::size_t i = 0; i < requests.size(); ++i)
    rig.comm(static_cast<int>(i) / 3).engine().release(requests[i]);
  for (const Items& one : a) EXPECT_EQ(one, summed(0, 4, 500));
  for (const Items& one : b) EXPECT_EQ(one, values(77, 900));
}

TEST(Start, RequestCanBeWaitedForAndTested) {
  Rig rig(3);
  rig.world().run([&](int rank) {
    Comm& comm = rig.comm(rank);
    Items data = rank == 0 ? values(9, 100) : untouched(100);
    p2p::Request* request = p2p::value_of(start(comm, bcast(comm, in(data), 0)));
    if (rank == 1) {
      while (!p2p::value_of(comm.engine().test(*request))) std::this_thread::yield();
    } else {
      ASSERT_TRUE(comm.engine().wait(*request));
    }
    EXPECT_EQ(data, values(9, 100));
    comm.engine().release(request);
    ASSERT_TRUE(run(comm, barrier(comm)));
  });
}

TEST(Prepare, EachStartIsASeparateCollective) {
  Rig rig(4);
  rig.world().run([&](int rank) {
    Comm& comm = rig.comm(rank);
    Items own(200), total(200);
    p2p::Request* request = prepare(
        comm, [&] { return allreduce(comm, out(own), total.data(), 200, int64_type(), sum()); });
    EXPECT_TRUE(request->is_persistent() && request->is_done() && !request->is_active());
    for (int round = 0; round < 5; ++round) {
      own = values(rank + round, 200);
      ASSERT_TRUE(comm.engine().start(*request));
      ASSERT_TRUE(comm.engine().wait(*request));
      EXPECT_EQ(total, summed(round, round + 3, 200));
      comm.engine().deactivate(*request);
    }
    comm.engine().release(request);
    ASSERT_TRUE(run(comm, barrier(comm)));
  });
}

// Waiting members can move packets all the time. A member that has only started a collective may
// compute meanwhile, so the others read its memory.
TEST(Run, OnlyWaitingMembersStream) {
  constexpr int kSize = 4;
  constexpr std::uint64_t kItems = 3000;  // for each member
  Rig rig(kSize, {.stream_budget = {1 << 20, 1 << 20}});
  const auto reads = [&](int rank) { return rig.comm(rank).engine().counts().single_copies; };
  rig.world().run([&](int rank) {
    Comm& comm = rig.comm(rank);
    const Items own = values(rank, kItems * kSize);
    Items got(kItems * kSize);
    const auto exchange = [&](std::uint64_t count) {
      return alltoall(comm, {own.data(), count, &int64_type()}, {got.data(), count, &int64_type()});
    };
    const auto started = [&](p2p::Request* request) {
      ASSERT_TRUE(comm.engine().wait(*request));
      EXPECT_EQ(got.back(), value_at(kSize - 1, kItems * static_cast<std::uint64_t>(rank + 1) - 1));
    };
    ASSERT_TRUE(run(comm, exchange(1)));  // opens the links
    ASSERT_TRUE(run(comm, exchange(kItems)));
    EXPECT_EQ(got.back(), value_at(kSize - 1, kItems * static_cast<std::uint64_t>(rank + 1) - 1));
    EXPECT_EQ(reads(rank), 0u);
    p2p::Request* request = p2p::value_of(start(comm, exchange(kItems)));
    started(request);
    comm.engine().release(request);
    EXPECT_EQ(reads(rank), kSize - 1u);
    request = prepare(comm, [&] { return exchange(kItems); });
    ASSERT_TRUE(p2p::Engine::start(*request));
    started(request);
    EXPECT_EQ(reads(rank), 2 * (kSize - 1u));
    p2p::Engine::deactivate(*request);
    p2p::Engine::release(request);
    ASSERT_TRUE(run(comm, barrier(comm)));
  });
}

// A member that receives less or more data than expected reports an error, and no member hangs.
TEST(Run, LengthMismatchIsReportedWithoutHang) {
  Rig rig(4);
  for (std::uint64_t wrong : {2, 6}) {
    std::vector<Items> own, all(4, untouched(16));
    for (int rank = 0; rank < 4; ++rank) own.push_back(values(rank, rank == 1 ? wrong : 4));
    auto errors = rig.run([&](Comm& comm) {
      auto me = static_cast<std::size_t>(comm.rank());
      return gather(comm, out(own[me]), {all[me].data(), 4, &int64_type()}, 0);
    });
    EXPECT_NE(errors[0], "");
    for (int rank : {2, 3}) EXPECT_EQ(errors[static_cast<std::size_t>(rank)], "");
    errors = rig.run([&](Comm& comm) {
      auto me = static_cast<std::size_t>(comm.rank());
      return bcast(comm, {all[me].data(), comm.rank() == 1 ? wrong : 4, &int64_type()}, 0);
    });
    EXPECT_NE(errors[1], "");
    for (int rank : {0, 2, 3})
      EXPECT_EQ(errors[static_cast<std::size_t>(rank)].find("hangs"), std::string::npos);
    errors = rig.run([&](Comm& comm) {
      auto me = static_cast<std::size_t>(comm.rank());
      return allgather(comm, out(own[me]), {all[me].data(), 4, &int64_type()});
    });
    EXPECT_NE(errors[1], "") << "the length of its block differs from its receive block";
  }
}

// Several communicators at once in several threads of each process, on one engine.
TEST(Run, ThreadsUseDifferentCommunicators) {
  constexpr int kSize = 3;
  p2p::World world({.processes = kSize});
  std::vector<std::vector<p2p::ContextPtr>> contexts;
  for (std::uint32_t i = 0; i < 3; ++i) contexts.push_back(world.contexts({}, 1000 * (i + 1)));
  world.run([&](int rank) {
    std::vector<std::thread> threads;
    for (auto& members : contexts) {
      threads.emplace_back([&, rank] {
        Comm comm(world.engine(rank), *members[static_cast<std::size_t>(rank)],
                  std::make_shared<ScratchPool>(), rank, kSize);
        for (std::uint64_t count = 0; count < 30; ++count) {
          Items own = values(rank, count * 20), total(count * 20);
          ASSERT_TRUE(run(
              comm, allreduce(comm, out(own), total.data(), total.size(), int64_type(), sum())));
          ASSERT_EQ(total, summed(0, kSize - 1, total.size()));
        }
        ASSERT_TRUE(run(comm, barrier(comm)));
      });
    }
    for (auto& thread : threads) thread.join();
  });
}

TEST(Errors, OperationNotAllowedOnTheTypeIsReported) {
  Rig rig(2);
  std::vector<std::vector<float>> data(2, std::vector<float>(4));
  auto errors = rig.run([&](Comm& comm) {
    return allreduce(comm, kInPlace, data[static_cast<std::size_t>(comm.rank())].data(), 4,
                     *types::find_predefined("MPI_FLOAT"),
                     types::predefined(types::Operator::band));
  });
  for (const std::string& error : errors)
    EXPECT_NE(error.find("MPI_BAND is not defined on MPI_FLOAT"), std::string::npos) << error;
}

TEST(Errors, LongerMessageThanExpectedIsReported) {
  Rig rig(2);
  std::vector<Items> data = {values(0, 10), untouched(10)};
  auto errors = rig.run([&](Comm& comm) {
    types::Buffer whole = in(data[static_cast<std::size_t>(comm.rank())]);
    if (comm.rank() == 1) whole.count = 6;
    return bcast(comm, whole, 0);
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_NE(errors[1], "");
  EXPECT_EQ(data[1][6], -1);
}

// One member's first combination fails during transfers of long messages by the others. Each
// message in flight is cancelled or completes into memory that still exists, which AddressSanitizer
// checks.
TEST(Errors, ScratchMemoryOutlivesMessagesInFlight) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Rig rig(4, troubled(seed));
    const std::uint64_t count = 5000;
    std::vector<std::vector<float>> data(4, std::vector<float>(count));
    std::vector<p2p::Request*> requests;
    for (int rank = 0; rank < 4; ++rank) {
      Comm& comm = rig.comm(rank);
      auto code = rank == 2 ? types::Operator::band : types::Operator::sum;
      requests.push_back(p2p::value_of(
          start(comm, allreduce(comm, kInPlace, data[static_cast<std::size_t>(rank)].data(), count,
                                *types::find_predefined("MPI_FLOAT"), types::predefined(code)))));
    }
    ASSERT_TRUE(rig.world().step_until([&] { return requests[2]->is_done(); }));
    EXPECT_NE(requests[2]->error(), nullptr);
    for (int i = 0; i < 200; ++i) rig.world().step();
    // the other members wait for each other; after the deaths none of them responds
    for (int rank = 0; rank < 4; ++rank) rig.world().kill(rank);
    for (p2p::Request* request : requests) {
      ASSERT_TRUE(rig.world().step_until([&] { return request->is_done(); })) << "seed " << seed;
    }
    for (int rank = 0; rank < 4; ++rank)
      rig.comm(rank).engine().release(requests[static_cast<std::size_t>(rank)]);
  }
}

TEST(Errors, DeathOfAMemberEndsTheCollectiveOfWaitingMembers) {
  Rig rig(2);
  Items data = untouched(10);
  p2p::Request* request = p2p::value_of(start(rig.comm(1), bcast(rig.comm(1), in(data), 0)));
  rig.world().step();
  EXPECT_FALSE(request->is_done());
  rig.world().kill(0);
  ASSERT_TRUE(rig.world().step_until([&] { return request->is_done(); }));
  ASSERT_NE(request->error(), nullptr);
  EXPECT_EQ(request->error()->error_class(), base::ErrorClass::proc_aborted);
  rig.comm(1).engine().release(request);
}

// Counts coroutine frames, to check that all are freed.
struct Counted {
  explicit Counted(int* count) : count_(count) { ++*count_; }
  ~Counted() { --*count_; }
  int* count_;
};
Task waiting_leaf(Call call, int* frames, Bytes into) {
  Counted counted(frames);
  co_await call.receive(into, 1);
}
Task waiting_root(Call call, int* frames, Bytes into) {
  Counted counted(frames);
  Task leaf = waiting_leaf(call, frames, into);
  co_await leaf;
}
Task without_memory(int* frames) {
  Counted counted(frames);
  throw std::bad_alloc();
  co_return;
}
Task throwing(int* frames) {
  Counted counted(frames);
  throw 4711;
  co_return;
}
Task around(Task inner, int* frames) {
  Counted counted(frames);
  co_await inner;
  ADD_FAILURE() << "the task continued after an error";
}

TEST(Frames, AreFreedAtAnySuspensionPoint) {
  Rig rig(2);
  Items into(4);
  int frames = 0;
  { Task never_run = waiting_root(call_on(rig.comm(0)), &frames, bytes_of(into)); }
  EXPECT_EQ(frames, 0);
  {
    Execution half_way(rig.comm(0), waiting_root(call_on(rig.comm(0)), &frames, bytes_of(into)),
                       Execution::WaitMode::suspended);
    EXPECT_FALSE(half_way.advance());
    EXPECT_EQ(frames, 2);
  }
  EXPECT_EQ(frames, 0);
  // the receive was cancelled: a later message is not written into its buffer
  rig.comm(1).next_tag();
  Items late = values(1, 4);
  Call call = call_on(rig.comm(1));
  auto sent = rig.comm(1).engine().isend(*call.context, out(late), 0, call.tag,
                                         p2p::SendMode::standard, p2p::Plane::collective);
  for (int i = 0; i < 20; ++i) rig.world().step();
  EXPECT_EQ(into, Items(4));
  rig.comm(1).engine().release(p2p::value_of(std::move(sent)));
}

TEST(Frames, AreFreedAfterAnException) {
  Rig rig(1);
  int frames = 0;
  {
    Execution execution(rig.comm(0), around(throwing(&frames), &frames),
                        Execution::WaitMode::suspended);
    EXPECT_THROW(static_cast<void>(execution.advance()), int);
    EXPECT_TRUE(execution.has_ended());
    EXPECT_FALSE(execution.take_result());
  }
  EXPECT_EQ(frames, 0);
}

TEST(Start, ExceptionEndsAPersistentRequest) {
  Rig rig(1);
  p2p::Engine& engine = rig.comm(0).engine();
  int frames = 0;
  p2p::Request* request = prepare(rig.comm(0), [&] { return throwing(&frames); });
  EXPECT_THROW(static_cast<void>(engine.start(*request)), int);
  EXPECT_TRUE(request->is_done());
  EXPECT_NE(request->error(), nullptr);
  engine.release(request);
  EXPECT_EQ(frames, 0);
}

TEST(Run, EndsWithTheStatusOfTheFinalCheck) {
  Rig rig(1);
  int asked = 0;
  const auto no = [&]() -> base::Status {
    ++asked;
    return base::Error(base::ErrorClass::other, "no");
  };
  EXPECT_TRUE(run(rig.comm(0), ending_as(barrier(rig.comm(0)), [] { return base::Status(); })));
  base::Status ended = run(rig.comm(0), ending_as(barrier(rig.comm(0)), no));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().text(), "no");
  EXPECT_EQ(asked, 1);
}

TEST(Frames, AreFreedAfterErrorsOfInnerTasks) {
  Rig rig(1);
  int frames = 0;
  auto result = run(rig.comm(0), around(without_memory(&frames), &frames));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().error_class(), base::ErrorClass::no_mem);
  EXPECT_EQ(frames, 0);
  auto empty = run(rig.comm(0), Task());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().error_class(), base::ErrorClass::no_mem);
}

}  // namespace
}  // namespace shim::coll
