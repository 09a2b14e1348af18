// SPDX-License-Identifier: BSD-3-Clause
// Tests every reduction and scan algorithm with sums, and with a non-commutative operation if the
// algorithm supports it.
#include "shim/coll/algorithms/segments.hpp"
#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

// The properties that differ between the operations of the sweep.
struct Sum {
  using Vector = Items;
  static constexpr bool kCommutes = true;
  static Operands operands(std::uint64_t count) {
    return {&int64_type(), &types::predefined(types::Operator::sum), count};
  }
  static Vector own(int rank, std::uint64_t count) { return values(rank, count); }
  static Vector combined(int first, int last, std::uint64_t count) {
    return summed(first, last, count);
  }
};
struct Compose {
  using Vector = Maps;
  static constexpr bool kCommutes = false;
  static Operands operands(std::uint64_t count) { return {&affine_type(), &compose(), count}; }
  static Vector own(int rank, std::uint64_t count) { return maps(rank, count); }
  static Vector combined(int first, int last, std::uint64_t count) {
    return composed(first, last, count);
  }
};

/// On a type with holes. Equal values occur, for which the lower rank must win.
struct MaxLoc {
  struct Pair {
    double value = -1;
    std::int32_t rank = -1;
    std::int32_t hole = 0x5eed;
    bool operator==(const Pair&) const = default;
  };
  static_assert(sizeof(Pair) == 16);
  using Vector = std::vector<Pair>;
  static constexpr bool kCommutes = true;
  static Operands operands(std::uint64_t count) {
    return {types::find_predefined("MPI_DOUBLE_INT"), &types::predefined(types::Operator::maxloc),
            count};
  }
  static Vector own(int rank, std::uint64_t count) { return combined(rank, rank, count); }
  static Vector combined(int first, int last, std::uint64_t count) {
    Vector result(count);
    for (int rank = first; rank <= last; ++rank) {
      for (std::uint64_t i = 0; i < count; ++i) {
        double value = static_cast<double>((static_cast<std::uint64_t>(rank) * 7 + i) % 5);
        if (value > result[i].value) result[i] = {value, rank};
      }
    }
    return result;
  }
};

template <typename T>
class Reductions : public testing::Test {};
using Operations = testing::Types<Sum, Compose, MaxLoc>;
TYPED_TEST_SUITE(Reductions, Operations);

template <typename Operation, typename Function, typename Body>
void for_each_row(std::span<const AlgorithmRow<Function>> rows, Rig& rig, const Body& body) {
  for (const AlgorithmRow<Function>& row : rows) {
    if (!rig.is_for(row.when, Operation::kCommutes)) continue;
    SCOPED_TRACE(std::string(row.name));
    body(row.algorithm.task);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <typename Operation>
std::vector<typename Operation::Vector> everyones(int size, std::uint64_t count) {
  std::vector<typename Operation::Vector> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(Operation::own(rank, count));
  return all;
}

template <typename Operation>
void check_reduce(Rig& rig, Reduce* algorithm, int root, std::uint64_t count) {
  for (bool in_place : {false, true}) {
    auto own = everyones<Operation>(rig.size(), count), before = own;
    typename Operation::Vector result(count);
    void* target = in_place ? own[static_cast<std::size_t>(root)].data() : result.data();
    rig.expect_success([&](Comm& comm) {
      auto rank = static_cast<std::size_t>(comm.rank());
      return algorithm(call_on(comm), Operation::operands(count), own[rank].data(),
                       comm.rank() == root ? target : nullptr, root);
    });
    auto expected = Operation::combined(0, rig.size() - 1, count);
    ASSERT_EQ(in_place ? own[static_cast<std::size_t>(root)] : result, expected);
    if (in_place) before[static_cast<std::size_t>(root)] = expected;
    ASSERT_EQ(own, before) << "a send buffer was modified";
  }
}

TYPED_TEST(Reductions, EveryReduceAlgorithmCombinesInRankOrder) {
  for_each_size([](Rig& rig) {
    for_each_row<TypeParam>(default_table().reduce.tasks(), rig, [&](Reduce* algorithm) {
      for_each_root(rig.size(), [&](int root, std::uint64_t count) {
        check_reduce<TypeParam>(rig, algorithm, root, count);
      });
    });
  });
}

/// Number of items that make three full segments and a short one.
constexpr std::uint64_t kSegmented = 3 * kChainSegmentBytes / sizeof(std::int64_t) + 11;

TEST(Reduce, WorksWithSeveralSegments) {
  for (int size : {1, 2, 3, 5}) {
    Rig rig(size);
    for (int root : {0, size - 1}) {
      check_reduce<Sum>(rig, reduce_chain, root, kSegmented);
      check_reduce<MaxLoc>(rig, reduce_chain, root, kSegmented);
    }
  }
}

// Check an operation in which each rank has an input and a result vector: allreduce, scan, exscan.
template <typename Operation, typename Expected>
void check_all(Rig& rig, Scan* algorithm, const Expected& expected,
               std::span<const std::uint64_t> counts = kCounts) {
  for (std::uint64_t count : counts) {
    for (bool in_place : {false, true}) {
      SCOPED_TRACE("count " + std::to_string(count) + (in_place ? ", in place" : ""));
      auto own = everyones<Operation>(rig.size(), count), before = own;
      std::vector<typename Operation::Vector> result(own.size(), typename Operation::Vector(count));
      rig.expect_success([&](Comm& comm) {
        auto rank = static_cast<std::size_t>(comm.rank());
        void* target = in_place ? own[rank].data() : result[rank].data();
        return algorithm(call_on(comm), Operation::operands(count), own[rank].data(), target);
      });
      for (int rank = 0; rank < rig.size(); ++rank) {
        auto i = static_cast<std::size_t>(rank);
        ASSERT_EQ(in_place ? own[i] : result[i], expected(rank, count, in_place))
            << "rank " << rank;
        if (in_place) continue;
        ASSERT_EQ(own[i], before[i]) << "the send buffer of rank " << rank << " was modified";
      }
    }
  }
}

TYPED_TEST(Reductions, EveryAllreduceAlgorithmCombinesInRankOrder) {
  for_each_size([](Rig& rig) {
    for_each_row<TypeParam>(default_table().allreduce.tasks(), rig, [&](Allreduce* algorithm) {
      check_all<TypeParam>(rig, algorithm, [&](int, std::uint64_t count, bool) {
        return TypeParam::combined(0, rig.size() - 1, count);
      });
    });
  });
}

TYPED_TEST(Reductions, EveryScanAlgorithmCombinesInRankOrder) {
  for_each_size([](Rig& rig) {
    for_each_row<TypeParam>(default_table().scan.tasks(), rig, [&](Scan* algorithm) {
      check_all<TypeParam>(rig, algorithm, [](int rank, std::uint64_t count, bool) {
        return TypeParam::combined(0, rank, count);
      });
    });
  });
}

TYPED_TEST(Reductions, ExscanDoesNotModifyTheResultOfRankZero) {
  for_each_size([](Rig& rig) {
    for_each_row<TypeParam>(default_table().exscan.tasks(), rig, [&](Scan* algorithm) {
      check_all<TypeParam>(rig, algorithm, [](int rank, std::uint64_t count, bool in_place) {
        if (rank > 0) return TypeParam::combined(0, rank - 1, count);
        return in_place ? TypeParam::own(0, count) : typename TypeParam::Vector(count);
      });
    });
  });
}

TYPED_TEST(Reductions, ScansWorkWithSeveralSegments) {
  constexpr std::uint64_t kLong[] = {kSegmented};
  for (int size : {2, 5}) {
    Rig rig(size);
    check_all<TypeParam>(
        rig, scan_chain,
        [](int rank, std::uint64_t count, bool) { return TypeParam::combined(0, rank, count); },
        kLong);
    check_all<TypeParam>(
        rig, exscan_chain,
        [](int rank, std::uint64_t count, bool in_place) {
          if (rank > 0) return TypeParam::combined(0, rank - 1, count);
          return in_place ? TypeParam::own(0, count) : typename TypeParam::Vector(count);
        },
        kLong);
  }
}

// Return block lengths by rank: all empty, equal, unequal with gaps, all items at one rank.
std::vector<std::vector<std::int64_t>> lengths_of_blocks(int size) {
  auto n = static_cast<std::size_t>(size);
  std::vector<std::int64_t> equal(n, 3), unequal(n), one(n);
  for (std::size_t i = 0; i < n; ++i) unequal[i] = static_cast<std::int64_t>(i * i % 5 * 40);
  one[n / 2] = 700;
  return {std::vector<std::int64_t>(n), equal, unequal, one};
}

TYPED_TEST(Reductions, EveryReduceScatterAlgorithmCombinesInRankOrder) {
  const auto rows = default_table().reduce_scatter.tasks();
  for_each_size([rows](Rig& rig) {
    for_each_row<TypeParam>(rows, rig, [&](ReduceScatter* algorithm) {
      for (const auto& counts : lengths_of_blocks(rig.size())) {
        std::vector<std::uint64_t> starts = starts_of(counts);
        for (bool in_place : {false, true}) {
          auto own = everyones<TypeParam>(rig.size(), starts.back()), before = own;
          std::vector<typename TypeParam::Vector> result(own.size());
          for (std::size_t i = 0; i < own.size(); ++i)
            result[i].resize(static_cast<std::size_t>(counts[i]));
          rig.expect_success([&](Comm& comm) {
            auto rank = static_cast<std::size_t>(comm.rank());
            void* target = in_place ? own[rank].data() : result[rank].data();
            return algorithm(call_on(comm), TypeParam::operands(starts.back()), own[rank].data(),
                             target, counts);
          });
          auto whole = TypeParam::combined(0, rig.size() - 1, starts.back());
          for (std::size_t rank = 0; rank < own.size(); ++rank) {
            auto length = static_cast<std::size_t>(counts[rank]);
            typename TypeParam::Vector expected(
                whole.begin() + static_cast<std::ptrdiff_t>(starts[rank]),
                whole.begin() + static_cast<std::ptrdiff_t>(starts[rank + 1]));
            if (in_place) own[rank].resize(length);
            ASSERT_EQ(in_place ? own[rank] : result[rank], expected) << "rank " << rank;
            if (in_place) continue;
            ASSERT_EQ(own[rank], before[rank])
                << "the send buffer of rank " << rank << " was modified";
          }
        }
      }
    });
  });
}

// Rounding depends on the order of additions, which must not depend on the order of arrival.
TEST(Reductions, ResultBitsDoNotDependOnTheOrderOfArrival) {
  const types::Type& type = *types::find_predefined("MPI_DOUBLE");
  Operands operands{&type, &types::predefined(types::Operator::sum), 100};
  for (int size : {3, 5, 8}) {
    for (const auto& row : default_table().allreduce.tasks()) {
      if (!row.when.is_possible(size, true)) continue;
      SCOPED_TRACE(std::string(row.name) + ", size " + std::to_string(size));
      std::vector<double> first;
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Rig rig(size, troubled(seed));
        std::mt19937 random(99);
        std::uniform_real_distribution<double> any(-1e10, 1e10);
        std::vector<std::vector<double>> data(static_cast<std::size_t>(size),
                                              std::vector<double>(100));
        for (auto& each : data) {
          for (double& x : each) x = any(random) / 3;
        }
        rig.expect_success([&](Comm& comm) {
          auto* own = data[static_cast<std::size_t>(comm.rank())].data();
          return row.algorithm.task(call_on(comm), operands, own, own);
        });
        if (first.empty()) first = data[0];
        for (const auto& each : data) ASSERT_EQ(each, first) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace shim::coll
