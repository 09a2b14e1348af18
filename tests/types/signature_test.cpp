// SPDX-License-Identifier: BSD-3-Clause
#include "shim/types/signature.hpp"

#include <gtest/gtest.h>

#include "shim/types/type_constructors.hpp"

namespace shim::types {
namespace {

const Type& named(const char* name) { return *find_predefined(name); }

/// An int and two doubles, a hundred times.
Type mixed() {
  const Member members[] = {{0, 1, &named("MPI_INT")}, {8, 2, &named("MPI_DOUBLE")}};
  Type inner = *structure(members);
  return *contiguous(100, inner);
}

TEST(Signature, IsEmptyIfAllElementsHaveOneType) {
  EXPECT_EQ(vector(3, 2, 40, named("MPI_INT"))->signature, nullptr);
  EXPECT_EQ(vector(3, 2, 40, named("MPI_INT"))->base, &named("MPI_INT"));
}

TEST(Signature, IsCompact) {
  const Type type = *contiguous(1'000'000, mixed());
  ASSERT_NE(type.signature, nullptr);
  EXPECT_EQ(type.signature->terms.size(), 1u);
  EXPECT_EQ(type.elements, 300'000'000u);
}

TEST(Signature, VisitsElementsInTheOrderOfTheData) {
  std::string seen;
  const std::uint64_t bytes = visit_elements(
      term_of(mixed(), 1), 45, [&](const Type& element, std::uint64_t items) {
        seen += std::string(element.name) + "*" + std::to_string(items) + " ";
      });
  EXPECT_EQ(seen, "MPI_INT*1 MPI_DOUBLE*2 MPI_INT*1 MPI_DOUBLE*2 MPI_INT*1 ");
  EXPECT_EQ(bytes, 44u);  // byte 45 belongs to an incomplete double
}

TEST(Elements, AreCountedInIncompleteItems) {
  const Type type = mixed();
  EXPECT_EQ(elements_in(type, 0), 0u);
  EXPECT_EQ(elements_in(type, 4), 1u);
  EXPECT_EQ(elements_in(type, 12), 2u);
  EXPECT_EQ(elements_in(type, 13), std::nullopt);
  EXPECT_EQ(elements_in(type, type.size), 300u);
  EXPECT_EQ(elements_in(type, 3 * type.size + 20), 903u);
}

TEST(Elements, ArePartsOfPairs) {
  EXPECT_EQ(elements_in(named("MPI_DOUBLE_INT"), 12), 2u);
  EXPECT_EQ(elements_in(named("MPI_DOUBLE_INT"), 8), 1u);
  EXPECT_EQ(elements_in(named("MPI_DOUBLE_INT"), 4), std::nullopt);
  EXPECT_EQ(elements_in(named("MPI_2INT"), 12), 3u);
}

TEST(Elements, ElementAndByteCountsAreInverse) {
  for (const Type& type :
       {mixed(), named("MPI_SHORT_INT"), named("MPI_INT"), *vector(3, 2, 64, mixed())})
    for (std::uint64_t elements = 0; elements < 2 * type.elements + 3; ++elements)
      EXPECT_EQ(elements_in(type, bytes_of_elements(type, elements)), elements) << elements;
}

TEST(Elements, AreZeroForATypeWithoutData) {
  EXPECT_EQ(elements_in(*contiguous(0, named("MPI_INT")), 0), 0u);
}

}  // namespace
}  // namespace shim::types
