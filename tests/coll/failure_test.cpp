// SPDX-License-Identifier: BSD-3-Clause
// Tests that a collective ends with an error at every member, at any stage, if one member dies or
// fails in it.
#include <atomic>
#include <map>

#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;

constexpr int kMembers = 6;
constexpr std::uint64_t kLongItems = 2000;  // of each member: longer than eager messages

/// Buffers of one member for any collective.
struct Buffers {
  explicit Buffers(int rank)
      : own(values(rank, kLongItems * kMembers)), result(untouched(kLongItems * kMembers)) {}
  Items own, result;
};

using Make = std::function<Task(const CollSeq&, Buffers&)>;

const types::Op& sum() { return types::predefined(types::Operator::sum); }

const std::map<std::string, Make>& collectives() {
  static const auto few = [](const Items& items) {
    return types::ConstBuffer{items.data(), kLongItems, &int64_type()};
  };
  static const auto few_in = [](Items& items) {
    return types::Buffer{items.data(), kLongItems, &int64_type()};
  };
  static const std::map<std::string, Make> all{
      {"barrier", [](const CollSeq& seq, Buffers&) { return barrier(seq); }},
      {"bcast", [](const CollSeq& seq, Buffers& b) { return bcast(seq, in(b.result), 0); }},
      {"reduce",
       [](const CollSeq& seq, Buffers& b) {
         return reduce(seq, out(b.own), b.result.data(), b.own.size(), int64_type(), sum(), 0);
       }},
      {"allreduce",
       [](const CollSeq& seq, Buffers& b) {
         return allreduce(seq, out(b.own), b.result.data(), b.own.size(), int64_type(), sum());
       }},
      {"gather",
       [](const CollSeq& seq, Buffers& b) { return gather(seq, few(b.own), few_in(b.result), 0); }},
      {"scatter", [](const CollSeq& seq,
                     Buffers& b) { return scatter(seq, few(b.own), few_in(b.result), 0); }},
      {"allgather",
       [](const CollSeq& seq, Buffers& b) { return allgather(seq, few(b.own), few_in(b.result)); }},
      {"alltoall",
       [](const CollSeq& seq, Buffers& b) { return alltoall(seq, few(b.own), few_in(b.result)); }},
      {"scan",
       [](const CollSeq& seq, Buffers& b) {
         return scan(seq, out(b.own), b.result.data(), b.own.size(), int64_type(), sum());
       }},
      {"exscan",
       [](const CollSeq& seq, Buffers& b) {
         return exscan(seq, out(b.own), b.result.data(), b.own.size(), int64_type(), sum());
       }},
      {"reduce_scatter_block",
       [](const CollSeq& seq, Buffers& b) {
         return reduce_scatter_block(seq, out(b.own), b.result.data(), kLongItems, int64_type(),
                                     sum());
       }},
  };
  return all;
}

/// One collective that all except one member start.
class Started {
 public:
  Started(Rig& rig, const Make& make, int without) : rig_(rig) {
    for (int rank = 0; rank < rig.size(); ++rank) {
      buffers_.push_back(std::make_unique<Buffers>(rank));
      if (rank == without)
        requests_.push_back(nullptr);
      else
        requests_.push_back(
            p2p::value_of(start(rig.comm(rank), make(CollSeq(rig.comm(rank)), *buffers_.back()))));
    }
  }
  ~Started() {
    for (int rank = 0; rank < rig_.size(); ++rank)  // the dead member's request, which no peer ends
      if (requests_[at(rank)] != nullptr && !requests_[at(rank)]->is_done())
        rig_.comm(rank).fail({ErrorClass::other, "the test is over"});
    EXPECT_TRUE(all_end());
    for (int rank = 0; rank < rig_.size(); ++rank)
      if (requests_[at(rank)] != nullptr) rig_.comm(rank).engine().release(requests_[at(rank)]);
  }

  /// True once the collective of every member except this one has ended.
  bool all_end(int except = -1) {
    return rig_.world().step_until(
        [&] {
          for (int rank = 0; rank < rig_.size(); ++rank)
            if (rank != except && requests_[at(rank)] != nullptr && !requests_[at(rank)]->is_done())
              return false;
          return true;
        },
        1'000'000);
  }
  void expect_ends(ErrorClass wanted) {
    ASSERT_TRUE(all_end()) << "a member still waits for a member that has failed";
    int errors = 0;
    for (const p2p::Request* request : requests_) {
      if (request == nullptr || request->error() == nullptr) continue;
      EXPECT_EQ(request->error()->error_class(), wanted) << request->error()->text();
      ++errors;
    }
    EXPECT_GT(errors, 0);
  }
  void overwrite() {
    for (auto& each : buffers_) std::ranges::fill(each->result, 0x5a5a);
  }
  void expect_untouched(int except = -1) {
    for (int rank = 0; rank < rig_.size(); ++rank) {
      const Items& result = buffers_[at(rank)]->result;
      if (rank == except) continue;
      EXPECT_EQ(result, Items(result.size(), 0x5a5a)) << "rank " << rank;
    }
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  Rig& rig_;
  std::vector<std::unique_ptr<Buffers>> buffers_;
  std::vector<p2p::Request*> requests_;
};

const Layout kNodes[] = {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 1}, {0, 1, 2, 0, 1, 2}};

TEST(Failure, OfAMissingMemberEndsTheCollectiveOfAll) {
  for (const auto& [name, make] : collectives()) {
    for (const Layout& layout : kNodes) {
      for (int victim : {0, 1, kMembers - 1}) {
        SCOPED_TRACE(name + " without rank " + std::to_string(victim) + " in layout " +
                     testing::PrintToString(layout));
        Rig rig(layout, troubled(static_cast<std::uint64_t>(victim)));
        rig.world().kill(victim);
        Started started(rig, make, victim);
        started.expect_ends(ErrorClass::proc_aborted);
        started.overwrite();
        for (int i = 0; i < 200; ++i) rig.world().step();
        started.expect_untouched();
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Failure, DuringTheCollectiveEndsItForAll) {
  for (const auto& [name, make] : collectives()) {
    for (int steps : {1, 3, 10, 30}) {
      SCOPED_TRACE(name + ", a death after " + std::to_string(steps) + " steps");
      Rig rig(kMembers, troubled(static_cast<std::uint64_t>(steps)));
      Started started(rig, make, -1);
      for (int i = 0; i < steps; ++i) rig.world().step();
      rig.world().kill(2);
      ASSERT_TRUE(started.all_end(2));
      started.overwrite();
      for (int i = 0; i < 200; ++i) rig.world().step();
      started.expect_untouched(2);
    }
  }
}

TEST(Failure, EndsLaterCollectivesAtOnce) {
  Rig rig(kMembers);
  rig.world().kill(1);
  for (const auto& [name, make] : collectives()) {
    SCOPED_TRACE(name);
    Started started(rig, make, 1);
    ASSERT_TRUE(started.all_end());
    if (name != "barrier") continue;
    for (int rank : {0, 2, 3, 4, 5}) ASSERT_TRUE(rig.comm(rank).has_failed());
  }
  Buffers buffers(0);
  base::Status sent = run(rig.comm(0), bcast(CollSeq::blocking(rig.comm(0)), in(buffers.own), 0));
  ASSERT_FALSE(sent) << "a root that receives nothing must fail, too";
  EXPECT_EQ(sent.error().error_class(), ErrorClass::proc_aborted);
}

TEST(Failure, OutOfMemoryAtOneMemberEndsTheCollectiveOfAll) {
  for (const auto& [name, make] : collectives()) {
    SCOPED_TRACE(name);
    Rig rig(kMembers, troubled(1));
    Started started(rig, make, 3);
    for (int i = 0; i < 3; ++i) rig.world().step();
    rig.comm(3).fail({ErrorClass::no_mem, "no memory"});
    started.expect_ends(ErrorClass::no_mem);
  }
}

TEST(Failure, OfAnOperationAtOneMemberEndsTheCollectiveOfAll) {
  const types::Op& broken = types::predefined(types::Operator::maxloc);  // not allowed on this type
  Rig rig(4, troubled(1));
  const Make make = [&](const CollSeq& seq, Buffers& b) {
    return reduce(seq, out(b.own), b.result.data(), b.own.size(), int64_type(),
                  seq.comm->rank() == 0 ? broken : sum(), 0);
  };
  Started started(rig, make, -1);
  ASSERT_TRUE(started.all_end());
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(rig.world().step_until([&] { return rig.comm(rank).has_failed(); }));
}

TEST(Failure, ReachesBothGroupsThroughTheLocalCommunicator) {
  p2p::World world({.processes = 2});
  auto inner = world.contexts(), outer = world.contexts({}, 200);
  std::vector<std::unique_ptr<Comm>> locals, inters;
  const auto scratch = std::make_shared<ScratchPool>();
  for (int rank : {0, 1}) {
    locals.push_back(std::make_unique<Comm>(
        world.engine(rank), *inner[static_cast<std::size_t>(rank)], scratch, rank, 2));
    inters.push_back(std::make_unique<Comm>(world.engine(rank),
                                            *outer[static_cast<std::size_t>(rank)], scratch, rank,
                                            2, locals.back().get()));
  }
  inters[0]->fail({ErrorClass::no_mem, "no memory"});
  EXPECT_TRUE(locals[0]->has_failed());
  EXPECT_TRUE(world.step_until([&] { return inters[1]->has_failed() && locals[1]->has_failed(); }));
}

}  // namespace
}  // namespace shim::coll
