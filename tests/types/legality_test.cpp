// SPDX-License-Identifier: BSD-3-Clause
// Tests which operation is allowed on which type: compares the standard's lists of names with the
// table and the kernels.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "shim/types/types.hpp"

namespace shim::types {
namespace {

using Names = std::set<std::string_view>;

// MPI-4.1 §6.9.2, the groups as the standard lists them.
const Names kCInteger = {
    "MPI_INT",         "MPI_LONG",          "MPI_SHORT",         "MPI_UNSIGNED_SHORT",
    "MPI_UNSIGNED",    "MPI_UNSIGNED_LONG", "MPI_LONG_LONG_INT", "MPI_UNSIGNED_LONG_LONG",
    "MPI_SIGNED_CHAR", "MPI_UNSIGNED_CHAR", "MPI_INT8_T",        "MPI_INT16_T",
    "MPI_INT32_T",     "MPI_INT64_T",       "MPI_UINT8_T",       "MPI_UINT16_T",
    "MPI_UINT32_T",    "MPI_UINT64_T"};
const Names kFortranInteger = {"MPI_INTEGER", "MPI_INTEGER1", "MPI_INTEGER2", "MPI_INTEGER4",
                               "MPI_INTEGER8"};
const Names kFloating = {"MPI_FLOAT",       "MPI_DOUBLE", "MPI_REAL",  "MPI_DOUBLE_PRECISION",
                         "MPI_LONG_DOUBLE", "MPI_REAL4",  "MPI_REAL8", "MPI_REAL16"};
const Names kLogical = {"MPI_LOGICAL",  "MPI_C_BOOL",   "MPI_CXX_BOOL", "MPI_LOGICAL1",
                        "MPI_LOGICAL2", "MPI_LOGICAL4", "MPI_LOGICAL8"};
const Names kComplex = {"MPI_COMPLEX",
                        "MPI_C_COMPLEX",
                        "MPI_C_DOUBLE_COMPLEX",
                        "MPI_C_LONG_DOUBLE_COMPLEX",
                        "MPI_CXX_FLOAT_COMPLEX",
                        "MPI_CXX_DOUBLE_COMPLEX",
                        "MPI_CXX_LONG_DOUBLE_COMPLEX",
                        "MPI_DOUBLE_COMPLEX",
                        "MPI_COMPLEX8",
                        "MPI_COMPLEX16",
                        "MPI_COMPLEX32"};
const Names kByte = {"MPI_BYTE"};
const Names kMultiLanguage = {"MPI_AINT", "MPI_OFFSET", "MPI_COUNT"};
// §6.9.4
const Names kPairs = {"MPI_FLOAT_INT", "MPI_DOUBLE_INT",        "MPI_LONG_INT",
                      "MPI_2INT",      "MPI_SHORT_INT",         "MPI_LONG_DOUBLE_INT",
                      "MPI_2REAL",     "MPI_2DOUBLE_PRECISION", "MPI_2INTEGER"};

Names join(std::initializer_list<Names> sets) {
  Names all;
  for (const Names& set : sets) all.insert(set.begin(), set.end());
  return all;
}

void expect_allowed(Operator code, const Names& names) {
  const Op& op = predefined(code);
  for (const Type& type : predefined_types()) {
    bool expected = names.count(type.name) == 1;
    EXPECT_EQ(is_allowed(op, type), expected) << op.name << " on " << type.name;
    if (expected) {
      EXPECT_NE(kernel(code, type.element), nullptr) << op.name << " on " << type.name;
    }
    // two items, aligned for all types
    alignas(32) std::byte in[64] = {}, inout[64] = {};
    EXPECT_EQ(reduce(op, type, in, inout, 2).has_value(), expected)
        << op.name << " on " << type.name;
  }
}

TEST(Legality, TableMatchesTheListsOfTheStandard) {
  Names ordered = join({kCInteger, kFortranInteger, kFloating, kMultiLanguage});
  Names logical = join({kCInteger, kLogical, kMultiLanguage});
  Names bitwise = join({kCInteger, kFortranInteger, kByte, kMultiLanguage});
  for (auto code : {Operator::max, Operator::min}) expect_allowed(code, ordered);
  for (auto code : {Operator::sum, Operator::prod}) expect_allowed(code, join({ordered, kComplex}));
  for (auto code : {Operator::land, Operator::lor, Operator::lxor}) expect_allowed(code, logical);
  for (auto code : {Operator::band, Operator::bor, Operator::bxor}) expect_allowed(code, bitwise);
  for (auto code : {Operator::maxloc, Operator::minloc}) expect_allowed(code, kPairs);
  for (auto code : {Operator::replace, Operator::no_op}) expect_allowed(code, {});
}

TEST(Legality, ErrorNamesOperationAndType) {
  int in = 0, inout = 0;
  auto status = reduce(predefined(Operator::land), *find_predefined("MPI_INTEGER"), &in, &inout, 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().error_class(), base::ErrorClass::op);
  EXPECT_NE(status.error().text().find("MPI_LAND is not defined on MPI_INTEGER"), std::string::npos)
      << status.error().text();
}

TEST(Legality, DerivedTypesTakeUserOperationsOnly) {
  Type pair_of_ints{.size = 8, .extent = 8, .elements = 2, .base = find_predefined("MPI_INT")};
  EXPECT_FALSE(is_allowed(predefined(Operator::sum), pair_of_ints));
  Op op{.name = "mine",
        .user = [](void*, const void* in, void* inout, std::uint64_t count, const Type& type) {
          for (std::uint64_t i = 0; i < count * type.elements; ++i) {
            static_cast<int*>(inout)[i] = static_cast<const int*>(in)[i] -
                                          static_cast<int*>(inout)[i];
          }
        }};
  int in[] = {10, 20}, inout[] = {1, 2};
  ASSERT_TRUE(reduce(op, pair_of_ints, in, inout, 1));
  EXPECT_EQ(inout[0], 9);
  EXPECT_EQ(inout[1], 18);
}

}  // namespace
}  // namespace shim::types
