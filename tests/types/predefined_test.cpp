// SPDX-License-Identifier: BSD-3-Clause
// Compares the table of predefined types with the compiler's sizes of the C types.
#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <set>

#include "shim/types/types.hpp"

namespace shim::types {
namespace {

template <typename T>
void expect_plain(const char* name) {
  const Type* type = find_predefined(name);
  ASSERT_NE(type, nullptr) << name;
  EXPECT_EQ(type->size, sizeof(T)) << name;
  EXPECT_EQ(type->extent, static_cast<std::int64_t>(sizeof(T))) << name;
  EXPECT_TRUE(type->contiguous) << name;
}

TEST(Predefined, SizesMatchTheCTypes) {
  expect_plain<char>("MPI_CHAR");
  expect_plain<short>("MPI_SHORT");
  expect_plain<int>("MPI_INT");
  expect_plain<long>("MPI_LONG");
  expect_plain<long long>("MPI_LONG_LONG_INT");
  expect_plain<unsigned char>("MPI_UNSIGNED_CHAR");
  expect_plain<unsigned>("MPI_UNSIGNED");
  expect_plain<float>("MPI_FLOAT");
  expect_plain<double>("MPI_DOUBLE");
  expect_plain<long double>("MPI_LONG_DOUBLE");
  expect_plain<wchar_t>("MPI_WCHAR");
  expect_plain<bool>("MPI_C_BOOL");
  expect_plain<std::complex<float>>("MPI_C_COMPLEX");
  expect_plain<std::complex<double>>("MPI_C_DOUBLE_COMPLEX");
  expect_plain<std::complex<long double>>("MPI_C_LONG_DOUBLE_COMPLEX");
  expect_plain<std::complex<double>>("MPI_DOUBLE_COMPLEX");
  expect_plain<std::int32_t>("MPI_LOGICAL");
  expect_plain<float[2]>("MPI_2REAL");
  expect_plain<std::byte>("MPI_PACKED");
}

template <typename V>
void expect_pair(const char* name, bool contiguous) {
  struct Pair {
    V value;
    int index;
  };
  const Type* type = find_predefined(name);
  ASSERT_NE(type, nullptr) << name;
  EXPECT_EQ(type->size, sizeof(V) + sizeof(int)) << name;
  EXPECT_EQ(type->extent, static_cast<std::int64_t>(sizeof(Pair))) << name;
  EXPECT_EQ(type->contiguous, contiguous) << name;
  EXPECT_EQ(type->elements, 2u) << name;
}

TEST(Predefined, PairsHaveTheLayoutOfStructuresWithHoles) {
  expect_pair<float>("MPI_FLOAT_INT", true);
  expect_pair<int>("MPI_2INT", true);
  expect_pair<short>("MPI_SHORT_INT", false);
  expect_pair<long>("MPI_LONG_INT", false);
  expect_pair<double>("MPI_DOUBLE_INT", false);
  expect_pair<long double>("MPI_LONG_DOUBLE_INT", false);
}

TEST(Predefined, EveryRowIsConsistent) {
  std::set<std::string_view> names;
  for (const Type& type : predefined_types()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name << " occurs twice";
    EXPECT_EQ(type.base, &type) << type.name;
    EXPECT_EQ(find_predefined(type.name), &type);
    EXPECT_EQ(type.contiguous, static_cast<std::int64_t>(type.size) == type.extent) << type.name;
    EXPECT_EQ(type.contiguous, type.layout == nullptr) << type.name;
    if (type.layout) {
      EXPECT_EQ(type.layout->size(), type.size) << type.name;
    }
    EXPECT_EQ(type.family == TypeGroup::none, type.element == Element::none) << type.name;
  }
  EXPECT_EQ(names.size(), 69u);
}

TEST(Predefined, SynonymsNameOneType) {
  EXPECT_EQ(find_predefined("MPI_LONG_LONG"), find_predefined("MPI_LONG_LONG_INT"));
  EXPECT_EQ(find_predefined("MPI_C_FLOAT_COMPLEX"), find_predefined("MPI_C_COMPLEX"));
  EXPECT_EQ(find_predefined("MPI_NO_SUCH_TYPE"), nullptr);
}

}  // namespace
}  // namespace shim::types
