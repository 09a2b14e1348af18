// SPDX-License-Identifier: BSD-3-Clause
#include "shim/types/type_constructors.hpp"

#include <gtest/gtest.h>

#include <random>

#include "shim/types/layout_walk.hpp"
#include "tests/types/type_model.hpp"

namespace shim::types {
namespace {

std::vector<std::int64_t> addresses_of(const Type& type) {
  std::vector<std::int64_t> all;
  Walk walk(0, type.size, [&](const Runs& runs) {
    for (std::uint64_t i = 0; i < runs.count * runs.bytes; ++i)
      all.push_back(runs.at + static_cast<std::int64_t>(i / runs.bytes) * runs.stride +
                    static_cast<std::int64_t>(i % runs.bytes));
  });
  walk.over(type.layout ? *type.layout : *Layout::run(type.size), 0);
  return all;
}

TEST(DerivedTypes, MatchTheModelOfTheStandard) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto [type, model] = TypeMaker(std::mt19937(seed)).any(static_cast<int>(seed % 4));
    std::vector<std::int64_t> expected;
    for (const auto& element : model.elements)
      for (std::int64_t i = 0; i < element.bytes; ++i) expected.push_back(element.at + i);
    ASSERT_EQ(type.size, expected.size());
    ASSERT_EQ(type.elements, model.elements.size());
    ASSERT_EQ(type.lower, model.lower());
    ASSERT_EQ(type.extent, model.extent());
    ASSERT_EQ(addresses_of(type), expected);
  }
}

TEST(DerivedTypes, KnowTheCommonTypeOfTheirElements) {
  const Type& integer = *find_predefined("MPI_INT");
  const Type& real = *find_predefined("MPI_DOUBLE");
  EXPECT_EQ(vector(3, 2, 100, integer)->base, &integer);
  const Member same[] = {{0, 1, &integer}, {8, 2, &integer}},
               different[] = {{0, 1, &integer}, {8, 1, &real}, {16, 1, &integer}};
  EXPECT_EQ(structure(same)->base, &integer);
  EXPECT_EQ(structure(different)->base, nullptr);
}

TEST(DerivedTypes, OneRunOfBytesIsContiguousInAnyDescription) {
  const Type& integer = *find_predefined("MPI_INT");
  EXPECT_TRUE(contiguous(5, integer)->contiguous);
  EXPECT_TRUE(vector(5, 2, 8, integer)->contiguous);
  const SubarrayDimension whole[] = {{4, 4, 0}, {3, 3, 0}};
  EXPECT_TRUE(subarray(whole, integer)->contiguous);
  EXPECT_FALSE(vector(5, 1, 8, integer)->contiguous);
  EXPECT_FALSE(resized(0, 8, integer)->contiguous);
}

TEST(DerivedTypes, WithAMillionEqualBlocksNeedLittleMemory) {
  const auto type = vector(1'000'000, 1, 16, *find_predefined("MPI_INT"));
  EXPECT_EQ(type->layout->kind(), Layout::NodeType::repeat);
  EXPECT_EQ(type->size, 4'000'000u);
}

TEST(DerivedTypes, BeyondTheAddressSpaceAreRefused) {
  const Type& integer = *find_predefined("MPI_INT");
  const auto refused = [](const base::Result<Type>& made) {
    return !made && made.error().error_class() == base::ErrorClass::arg;
  };
  EXPECT_TRUE(refused(contiguous(UINT64_MAX, integer)));
  EXPECT_TRUE(refused(contiguous(std::uint64_t{1} << 61, integer)));
  EXPECT_TRUE(refused(vector(std::uint64_t{1} << 40, 1, std::int64_t{1} << 40, integer)));
  EXPECT_TRUE(refused(resized(INT64_MAX, 1, integer)));
  const ItemBlock far[] = {{INT64_MIN, 1}, {INT64_MAX - 4, 1}};
  EXPECT_TRUE(refused(indexed(far, integer)));
  const SubarrayDimension cube[] = {
      {std::uint64_t{1} << 31, 1, 0}, {std::uint64_t{1} << 31, 1, 0}, {4, 1, 0}};
  EXPECT_TRUE(refused(subarray(cube, integer)));
}

TEST(DerivedTypes, RefuseBlocksThatDoNotCoverADimension) {
  const DistributedDimension share{.size = 10,
                                   .distribution = DistributedDimension::Distribution::block,
                                   .block = 3,
                                   .processes = 3};
  const auto made = distributed_array({&share, 1}, *find_predefined("MPI_INT"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error_class(), base::ErrorClass::arg);
}

}  // namespace
}  // namespace shim::types
