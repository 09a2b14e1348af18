// SPDX-License-Identifier: BSD-3-Clause
// A member dies, or gives a collective up: every other member's collective ends with an error, however far it has come.
#include <atomic>
#include <map>

#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;

constexpr int kMembers = 6;
constexpr std::uint64_t kItems = 2000;  // of each member: longer than what goes eagerly

/// Memory for one member's part in any collective.
struct Buffers {
  explicit Buffers(int rank) : own(values(rank, kItems * kMembers)), result(untouched(kItems * kMembers)) {}
  Items own, result;
};

using Make = std::function<Task(const Turn&, Buffers&)>;

const types::Op& sum() { return types::predefined(types::Operator::sum); }

const std::map<std::string, Make>& collectives() {
  static const auto few = [](const Items& items) { return types::ConstBuffer{items.data(), kItems, &int64_type()}; };
  static const auto few_in = [](Items& items) { return types::Buffer{items.data(), kItems, &int64_type()}; };
  static const std::map<std::string, Make> all{
      {"barrier", [](const Turn& turn, Buffers&) { return barrier(turn); }},
      {"bcast", [](const Turn& turn, Buffers& b) { return bcast(turn, in(b.result), 0); }},
      {"reduce", [](const Turn& turn, Buffers& b) { return reduce(turn, out(b.own), b.result.data(), b.own.size(), int64_type(), sum(), 0); }},
      {"allreduce", [](const Turn& turn, Buffers& b) { return allreduce(turn, out(b.own), b.result.data(), b.own.size(), int64_type(), sum()); }},
      {"gather", [](const Turn& turn, Buffers& b) { return gather(turn, few(b.own), few_in(b.result), 0); }},
      {"scatter", [](const Turn& turn, Buffers& b) { return scatter(turn, few(b.own), few_in(b.result), 0); }},
      {"allgather", [](const Turn& turn, Buffers& b) { return allgather(turn, few(b.own), few_in(b.result)); }},
      {"alltoall", [](const Turn& turn, Buffers& b) { return alltoall(turn, few(b.own), few_in(b.result)); }},
      {"scan", [](const Turn& turn, Buffers& b) { return scan(turn, out(b.own), b.result.data(), b.own.size(), int64_type(), sum()); }},
      {"exscan", [](const Turn& turn, Buffers& b) { return exscan(turn, out(b.own), b.result.data(), b.own.size(), int64_type(), sum()); }},
      {"reduce_scatter_block", [](const Turn& turn, Buffers& b) {
         return reduce_scatter_block(turn, out(b.own), b.result.data(), kItems, int64_type(), sum());
       }},
  };
  return all;
}

/// One collective that all but one member start.
class Started {
 public:
  Started(Rig& rig, const Make& make, int without) : rig_(rig) {
    for (int rank = 0; rank < rig.size(); ++rank) {
      buffers_.push_back(std::make_unique<Buffers>(rank));
      if (rank == without) requests_.push_back(nullptr);
      else requests_.push_back(p2p::value_of(start(rig.comm(rank), make(Turn(rig.comm(rank)), *buffers_.back()))));
    }
  }
  ~Started() {
    for (int rank = 0; rank < rig_.size(); ++rank)  // the victim's, which nobody tells
      if (requests_[at(rank)] != nullptr && !requests_[at(rank)]->is_done()) rig_.comm(rank).fail({ErrorClass::other, "the test is over"});
    EXPECT_TRUE(all_end());
    for (int rank = 0; rank < rig_.size(); ++rank)
      if (requests_[at(rank)] != nullptr) rig_.comm(rank).engine().release(requests_[at(rank)]);
  }

  /// True once the collective of every member but this one has ended.
  bool all_end(int but = -1) {
    return rig_.world().step_until([&] {
      for (int rank = 0; rank < rig_.size(); ++rank)
        if (rank != but && requests_[at(rank)] != nullptr && !requests_[at(rank)]->is_done()) return false;
      return true;
    }, 1'000'000);
  }
  void expect_ends(ErrorClass wanted) {
    ASSERT_TRUE(all_end()) << "a member waits for one that has given up";
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
  void expect_untouched(int but = -1) {
    for (int rank = 0; rank < rig_.size(); ++rank) {
      const Items& result = buffers_[at(rank)]->result;
      if (rank == but) continue;
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

TEST(Failure, OfAMemberThatNeverComesEndsTheCollectiveOfAll) {
  for (const auto& [name, make] : collectives()) {
    for (const Layout& layout : kNodes) {
      for (int victim : {0, 1, kMembers - 1}) {
        SCOPED_TRACE(name + " without rank " + std::to_string(victim) + " in layout " + testing::PrintToString(layout));
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

TEST(Failure, InTheMidstEndsTheCollectiveOfAll) {
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
  base::Status sent = run(rig.comm(0), bcast(Turn::blocking(rig.comm(0)), in(buffers.own), 0));
  ASSERT_FALSE(sent) << "a root that needs nobody";
  EXPECT_EQ(sent.error().error_class(), ErrorClass::proc_aborted);
}

TEST(Failure, OfAMemberForWantOfMemoryEndsTheCollectiveOfAll) {
  for (const auto& [name, make] : collectives()) {
    SCOPED_TRACE(name);
    Rig rig(kMembers, troubled(1));
    Started started(rig, make, 3);
    for (int i = 0; i < 3; ++i) rig.world().step();
    rig.comm(3).fail({ErrorClass::no_mem, "no memory"});
    started.expect_ends(ErrorClass::no_mem);
  }
}

TEST(Failure, OfAnOperationEndsTheCollectiveOfAll) {
  const types::Op& broken = types::predefined(types::Operator::maxloc);  // which the type does not allow
  Rig rig(4, troubled(1));
  const Make make = [&](const Turn& turn, Buffers& b) {
    return reduce(turn, out(b.own), b.result.data(), b.own.size(), int64_type(), turn.comm->rank() == 0 ? broken : sum(), 0);
  };
  Started started(rig, make, -1);
  ASSERT_TRUE(started.all_end());
  for (int rank = 0; rank < 4; ++rank) EXPECT_TRUE(rig.world().step_until([&] { return rig.comm(rank).has_failed(); }));
}

TEST(Failure, ReachesBothGroupsThroughTheLocalCommunicator) {
  p2p::World world({.processes = 2});
  auto inner = world.contexts(), outer = world.contexts({}, 200);
  std::vector<std::unique_ptr<Comm>> locals, inters;
  const auto scratch = std::make_shared<ScratchPool>();
  for (int rank : {0, 1}) {
    locals.push_back(std::make_unique<Comm>(world.engine(rank), *inner[static_cast<std::size_t>(rank)], scratch, rank, 2));
    inters.push_back(std::make_unique<Comm>(world.engine(rank), *outer[static_cast<std::size_t>(rank)], scratch, rank, 2, locals.back().get()));
  }
  inters[0]->fail({ErrorClass::no_mem, "no memory"});
  EXPECT_TRUE(locals[0]->has_failed());
  EXPECT_TRUE(world.step_until([&] { return inters[1]->has_failed() && locals[1]->has_failed(); }));
}

}  // namespace
}  // namespace shim::coll
