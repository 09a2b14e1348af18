// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/error.hpp"

#include <gmock/gmock.h>

#include <cerrno>
#include <set>

#include "shim/base/result.hpp"

namespace shim::base {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Errors, EveryClassHasAUniqueNameAndAMeaning) {
  std::set<std::string_view> names;
  for (int number = 1; number <= static_cast<int>(ErrorClass::errhandler); ++number) {
    const auto error_class = static_cast<ErrorClass>(number);
    EXPECT_THAT(std::string(name_of(error_class)), StartsWith("MPI_ERR_"));
    EXPECT_TRUE(names.insert(name_of(error_class)).second) << name_of(error_class);
    EXPECT_FALSE(meaning_of(error_class).empty()) << name_of(error_class);
  }
}

TEST(Errors, SystemErrorsHaveAClassTheErrnoValueAndItsText) {
  EXPECT_EQ(system_error(ENOMEM, "x").error_class(), ErrorClass::no_mem);
  EXPECT_EQ(system_error(ENOSPC, "x").error_class(), ErrorClass::no_space);
  EXPECT_EQ(system_error(EACCES, "x").error_class(), ErrorClass::access);
  EXPECT_EQ(system_error(EPERM, "x").error_class(), ErrorClass::access);
  const Error error = system_error(ENOENT, "cannot open a/b");
  EXPECT_EQ(error.error_class(), ErrorClass::other);
  EXPECT_EQ(error.origin(), Origin::system);
  EXPECT_EQ(error.foreign_code(), ENOENT);
  EXPECT_THAT(error.text(), StartsWith("cannot open a/b"));
  EXPECT_THAT(error.text(), HasSubstr("No such file"));
}

TEST(Errors, WithinPrependsTextAndKeepsTheClass) {
  const Error error = Error(ErrorClass::rank, Origin::pmix, 7, "no such rank").within("sending");
  EXPECT_EQ(error.error_class(), ErrorClass::rank);
  EXPECT_EQ(error.foreign_code(), 7);
  EXPECT_EQ(error.text(), "sending: no such rank");
  EXPECT_EQ(error.clone().text(), error.text());
}

Result<int> half(int number) {
  if (number % 2 != 0) return Error(ErrorClass::arg, "odd");
  return number / 2;
}
Result<int> quarter(int number) {
  SHIM_TRY_ASSIGN(int once, half(number));
  SHIM_TRY(half(once));
  return half(once);
}

TEST(Results, TryReturnsTheFirstError) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().text(), "odd");
  EXPECT_EQ(quarter(3).error().error_class(), ErrorClass::arg);
}

Result<int> half_if_wanted(bool is_wanted, int number) {
  int found = number;
  if (is_wanted)
    SHIM_TRY(half(number));
  else
    found = -1;
  return found;
}

TEST(Results, TryCanBeABranchWithoutBraces) {
  EXPECT_EQ(*half_if_wanted(false, 3), -1);
  EXPECT_EQ(*half_if_wanted(true, 4), 4);
  EXPECT_EQ(half_if_wanted(true, 3).error().text(), "odd");
}

}  // namespace
}  // namespace shim::base
