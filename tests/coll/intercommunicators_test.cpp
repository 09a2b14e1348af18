// SPDX-License-Identifier: BSD-3-Clause
// Tests collectives of intercommunicators with groups of several small sizes.
#include "shim/coll/inter.hpp"

#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

/// The processes `first` to `first` + `size` - 1.
class Group final : public p2p::Members {
 public:
  Group(int first, int size) : first_(first), size_(size) {}
  int size() const override { return size_; }
  base::ProcessId at(int rank) const override {
    return {0, static_cast<std::uint32_t>(first_ + rank)};
  }
  int first() const { return first_; }

 private:
  int first_, size_;
};

/// Two groups with consecutive processes. Values differ by the number of their process.
class InterRig {
 public:
  InterRig(int first, int second, transport::LoopFaults faults)
      : world_({.processes = first + second, .faults = faults}) {
    groups_[0] = std::make_shared<Group>(0, first);
    groups_[1] = std::make_shared<Group>(first, second);
    for (int process = 0; process < first + second; ++process) {
      const Group& own = *groups_[side(process)];
      locals_.push_back(comm(process, groups_[side(process)], 200, nullptr, own.size()));
      Comm* local = locals_.back().get();
      inters_.push_back(comm(process, groups_[1 - side(process)], 400, local,
                             groups_[1 - side(process)]->size()));
    }
  }
  int size() const { return world_.size(); }
  std::size_t side(int process) const { return process < groups_[0]->size() ? 0 : 1; }
  const Group& own(int process) const { return *groups_[side(process)]; }
  const Group& other(int process) const { return *groups_[1 - side(process)]; }
  int number(const Comm& comm) const { return static_cast<int>(comm.engine().self().rank); }
  /// Return the root argument of `process` for the root process `root`.
  int root_for(int process, int root) const {
    if (side(process) != side(root)) return root - own(root).first();
    return process == root ? kRoot : p2p::kProcNull;
  }
  Comm& inter(int process) { return *inters_[static_cast<std::size_t>(process)]; }
  p2p::World& world() { return world_; }
  void expect_success(const std::function<Task(Comm&)>& make) {
    for (const std::string& error : run_all(world_, inters_, make)) ASSERT_EQ(error, "");
  }

 private:
  std::unique_ptr<Comm> comm(int process, const std::shared_ptr<Group>& members, std::uint32_t base,
                             Comm* local, int size) {
    auto bases = std::make_shared<p2p::ContextBases>();
    for (int i = 0; i < size; ++i)
      bases->by_rank.push_back(base + static_cast<std::uint32_t>(members->first() + i));
    const int rank = process - own(process).first();
    contexts_.push_back(world_.engine(process).make_context(
        {members, rank, bases, base + static_cast<std::uint32_t>(process), {}}));
    return std::make_unique<Comm>(world_.engine(process), *contexts_.back(),
                                  std::make_shared<ScratchPool>(), rank, size, local);
  }

  p2p::World world_;
  std::shared_ptr<Group> groups_[2];
  std::vector<p2p::ContextPtr> contexts_;
  std::vector<std::unique_ptr<Comm>> locals_, inters_;
};

template <typename Body>
void for_each_pair_of_sizes(const Body& body) {
  for (int first : {1, 2, 3, 5}) {
    for (int second : {1, 2, 4, 6}) {
      SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(second));
      InterRig rig(first, second, troubled(static_cast<std::uint64_t>(10 * first + second)));
      body(rig);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

std::size_t index(int process) { return static_cast<std::size_t>(process); }
/// Return the composition of a group's values in rank order.
Maps composed_by(const Group& group, std::uint64_t count) {
  return composed(group.first(), group.first() + group.size() - 1, count);
}
struct Data {
  explicit Data(int processes, std::uint64_t count)
      : own(index(processes)), result(index(processes), Maps(count)) {
    for (int process = 0; process < processes; ++process)
      own[index(process)] = maps(process, count);
  }
  types::ConstBuffer send(int process) const {
    return {own[index(process)].data(), own[index(process)].size(), &affine_type()};
  }
  std::vector<Maps> own, result;
};

TEST(InterCollectives, BcastReachesTheRemoteGroup) {
  for_each_pair_of_sizes([](InterRig& rig) {
    for (int root = 0; root < rig.size(); ++root) {
      for (std::uint64_t count : {0, 1, 1009}) {
        std::vector<Items> data(index(rig.size()), untouched(count));
        data[index(root)] = values(root, count);
        rig.expect_success([&](Comm& comm) {
          const int process = rig.number(comm);
          return bcast(comm, in(data[index(process)]), rig.root_for(process, root));
        });
        for (int process = 0; process < rig.size(); ++process) {
          bool has_it = process == root || rig.side(process) != rig.side(root);
          ASSERT_EQ(data[index(process)], has_it ? values(root, count) : untouched(count));
        }
      }
    }
  });
}

TEST(InterCollectives, ReduceCombinesTheRemoteGroup) {
  for_each_pair_of_sizes([](InterRig& rig) {
    for (int root = 0; root < rig.size(); ++root) {
      Data data(rig.size(), 7);
      rig.expect_success([&](Comm& comm) {
        const int process = rig.number(comm);
        return reduce(comm, data.send(process), data.result[index(process)].data(), 7,
                      affine_type(), compose(), rig.root_for(process, root));
      });
      for (int process = 0; process < rig.size(); ++process)
        ASSERT_EQ(data.result[index(process)],
                  process == root ? composed_by(rig.other(root), 7) : Maps(7));
    }
  });
}

TEST(InterCollectives, AllreduceCombinesTheRemoteGroup) {
  for_each_pair_of_sizes([](InterRig& rig) {
    for (std::uint64_t count : {0, 1, 700}) {
      Data data(rig.size(), count);
      rig.expect_success([&](Comm& comm) {
        const int process = rig.number(comm);
        return allreduce(comm, data.send(process), data.result[index(process)].data(), count,
                         affine_type(), compose());
      });
      for (int process = 0; process < rig.size(); ++process)
        ASSERT_EQ(data.result[index(process)], composed_by(rig.other(process), count));
    }
  });
}

/// Both groups have 60 items, once in equal blocks, once in blocks of 0, 1, 2, … items, of which
/// the last one has the rest.
TEST(InterCollectives, ReduceScatterCombinesTheRemoteGroup) {
  constexpr std::int64_t kTotal = 60;
  for_each_pair_of_sizes([](InterRig& rig) {
    for (bool are_equal : {true, false}) {
      Data data(rig.size(), kTotal);
      std::vector<std::vector<std::int64_t>> counts(index(rig.size()));
      for (int process = 0; process < rig.size(); ++process) {
        const int members = rig.own(process).size();
        std::int64_t left = kTotal;
        for (int rank = 0; rank < members; ++rank) {
          std::int64_t count = are_equal ? kTotal / members : rank < members - 1 ? rank : left;
          counts[index(process)].push_back(count);
          left -= count;
        }
      }
      rig.expect_success([&](Comm& comm) {
        const int process = rig.number(comm);
        void* result = data.result[index(process)].data();
        if (are_equal)
          return reduce_scatter_block(comm, data.send(process), result,
                                      static_cast<std::uint64_t>(counts[index(process)][0]),
                                      affine_type(), compose());
        return reduce_scatter(comm, data.send(process), result, counts[index(process)],
                              affine_type(), compose());
      });
      for (int process = 0; process < rig.size(); ++process) {
        const auto& own_counts = counts[index(process)];
        const int rank = process - rig.own(process).first();
        auto first = std::accumulate(own_counts.begin(), own_counts.begin() + rank,
                                     std::int64_t{0});
        Maps all = composed_by(rig.other(process), kTotal);
        for (std::int64_t i = 0; i < own_counts[index(rank)]; ++i)
          ASSERT_EQ(data.result[index(process)][static_cast<std::size_t>(i)],
                    all[static_cast<std::size_t>(first + i)]);
      }
    }
  });
}

TEST(InterCollectives, BarrierCompletesOnlyAfterAllOfBothGroupsHaveEntered) {
  for_each_pair_of_sizes([](InterRig& rig) {
    std::vector<p2p::Request*> requests;
    for (int process = 0; process < rig.size(); ++process) {
      for (int i = 0; i < 50; ++i) rig.world().step();
      for (p2p::Request* request : requests) ASSERT_FALSE(request->is_done());
      requests.push_back(p2p::value_of(start(rig.inter(process), barrier(rig.inter(process)))));
    }
    EXPECT_TRUE(rig.world().step_until([&] {
      return std::all_of(requests.begin(), requests.end(),
                         [](p2p::Request* request) { return request->is_done(); });
    }));
    for (int process = 0; process < rig.size(); ++process)
      rig.inter(process).engine().release(requests[index(process)]);
  });
}

}  // namespace
}  // namespace shim::coll
