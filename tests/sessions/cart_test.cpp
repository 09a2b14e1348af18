// SPDX-License-Identifier: BSD-3-Clause
// Tests Cartesian arithmetic: dimensions, ranks, coordinates, shifts.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {
namespace {

using base::ErrorClass;
using Ints = std::vector<int>;

Ints dims_of(int processes, Ints dims) {
  auto status = dims_create(processes, dims);
  return status ? dims : Ints{-static_cast<int>(status.error().error_class())};
}
const Ints kDimsError = {-static_cast<int>(ErrorClass::dims)};

TEST(Dims, MatchTheExamplesOfTheStandard) {  // MPI-4.1 §8.5.2, example 8.1
  EXPECT_EQ(dims_of(6, {0, 0}), (Ints{3, 2}));
  EXPECT_EQ(dims_of(7, {0, 0}), (Ints{7, 1}));
  EXPECT_EQ(dims_of(6, {0, 3, 0}), (Ints{2, 3, 1}));
  EXPECT_EQ(dims_of(7, {0, 3, 0}), kDimsError);
}

TEST(Dims, AreBalanced) {
  EXPECT_EQ(dims_of(16, {0, 0, 0}), (Ints{4, 2, 2}));
  EXPECT_EQ(dims_of(72, {0, 0, 0}), (Ints{6, 4, 3}));
  EXPECT_EQ(dims_of(5040, {0, 0, 0}),
            (Ints{21, 16, 15}));  // not 20, 18, 14: equal spread, but a smaller last dimension
  EXPECT_EQ(dims_of(7488, {0, 0, 0}), (Ints{26, 18, 16}));  // not 24, 24, 13: larger spread
  EXPECT_EQ(dims_of(5616, {0, 0, 0, 0}),
            (Ints{13, 9, 8, 6}));  // not 13, 12, 6, 6: its second last dimension is smaller
  EXPECT_EQ(dims_of(98784, Ints(5, 0)), (Ints{14, 14, 9, 8, 7}));  // not 14, 12, 12, 7, 7
  EXPECT_EQ(dims_of(1, {0, 0}), (Ints{1, 1}));
  EXPECT_EQ(dims_of(1024, Ints(10, 0)), Ints(10, 2));
  EXPECT_EQ(dims_of(2147483647, {0, 0}), (Ints{2147483647, 1}));  // a prime
  EXPECT_EQ(dims_of(12, {2, 0, 3}), (Ints{2, 2, 3}));
  EXPECT_EQ(dims_of(5, {}), Ints{});
}

TEST(Dims, RejectInvalidArguments) {
  EXPECT_EQ(dims_of(0, {0}), kDimsError);
  EXPECT_EQ(dims_of(4, {-1, 0}), kDimsError);
  EXPECT_EQ(dims_of(6, {3}), kDimsError);
  EXPECT_EQ(dims_of(6, {2, 3}), (Ints{2, 3}));
}

/// Call `then` with each factorization of `rest` into `count` non-increasing factors up to `limit`.
void each_product(int rest, int count, int limit, Ints& factors,
                  const std::function<void(const Ints&)>& then) {
  if (count == 0) {
    if (rest == 1) then(factors);
    return;
  }
  for (int d = 1; d <= std::min(rest, limit); ++d) {
    if (rest % d != 0) continue;
    factors.push_back(d);
    each_product(rest / d, count - 1, d, factors, then);
    factors.pop_back();
  }
}

/// Compare with all factorizations of small numbers. The best grid has the smallest difference of
/// the first and last dimension, then the largest last dimension, then the largest one before it,
/// and so on.
TEST(Dims, NoMoreBalancedGridExists) {
  auto rank = [](const Ints& grid) {
    Ints negated;
    for (auto d = grid.rbegin(); d != grid.rend(); ++d) negated.push_back(-*d);
    return std::tuple(grid.front() - grid.back(), negated);
  };
  for (int n = 1; n <= 400; ++n)
    for (int count = 1; count <= 4; ++count) {
      Ints best, factors;
      each_product(n, count, n, factors, [&](const Ints& grid) {
        if (best.empty() || rank(grid) < rank(best)) best = grid;
      });
      ASSERT_EQ(dims_of(n, Ints(count, 0)), best) << n << " in " << count;
    }
}

TEST(Cart, RanksAndCoordinatesAreInverse) {
  Cartesian grid{{3, 4, 2}, {0, 1, 0}, {1, 0, 1}};
  for (int rank = 0; rank < 24; ++rank) {
    auto coords = cart_coords(grid, rank);
    ASSERT_TRUE(coords);
    EXPECT_EQ(rank, ((*coords)[0] * 4 + (*coords)[1]) * 2 + (*coords)[2]);  // row-major
    EXPECT_EQ(*cart_rank(grid, *coords), rank);
    (*coords)[1] -= 8;
    EXPECT_EQ(*cart_rank(grid, *coords), rank);
  }
  EXPECT_EQ(cart_coords(grid, 24).error().error_class(), ErrorClass::rank);
  EXPECT_EQ(cart_coords(grid, -1).error().error_class(), ErrorClass::rank);
  EXPECT_EQ(cart_rank(grid, {3, 0, 0}).error().error_class(), ErrorClass::arg);
  EXPECT_EQ(cart_rank(grid, {0, 0}).error().error_class(), ErrorClass::dims);
}

TEST(Cart, ShiftsRespectPeriodicity) {
  Cartesian grid{{3, 4}, {0, 1}, {1, 3}};  // rank 7
  auto along = cart_shift(grid, 0, 1);
  EXPECT_EQ(along->source, 3);
  EXPECT_EQ(along->dest, 11);
  along = cart_shift(grid, 0, 2);
  EXPECT_EQ(along->source, p2p::kProcNull);
  EXPECT_EQ(along->dest, p2p::kProcNull);
  auto around = cart_shift(grid, 1, 1);
  EXPECT_EQ(around->source, 6);
  EXPECT_EQ(around->dest, 4);
  around = cart_shift(grid, 1, -4);
  EXPECT_EQ(around->source, 7);
  EXPECT_EQ(around->dest, 7);
  EXPECT_TRUE(cart_shift(grid, 1, std::numeric_limits<int>::min()));
  EXPECT_EQ(cart_shift(grid, 2, 1).error().error_class(), ErrorClass::dims);
  EXPECT_EQ(cart_shift(grid, -1, 1).error().error_class(), ErrorClass::dims);
}

TEST(Cart, GridWithoutDimensionsHasOneProcess) {
  Cartesian point;
  EXPECT_EQ(*cart_rank(point, {}), 0);
  EXPECT_EQ(*cart_coords(point, 0), Ints{});
  EXPECT_EQ(cart_shift(point, 0, 1).error().error_class(), ErrorClass::dims);
}

}  // namespace
}  // namespace shim::sessions
