// SPDX-License-Identifier: BSD-3-Clause
// Tests the properties of MPICH: error codes and predefined handles.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "shim/intercept/abi/codes.hpp"
#include "shim/intercept/abi/predefined.hpp"

namespace shim::intercept::abi {
namespace {

using base::ErrorClass;

TEST(Codes, MatchMpich) {
  EXPECT_EQ(code_of(ErrorClass::success), 0);
  EXPECT_EQ(code_of(ErrorClass::comm), 5);
  EXPECT_EQ(code_of(ErrorClass::arg), 12);
  EXPECT_EQ(code_of(ErrorClass::in_status), 17);
  EXPECT_EQ(code_of(ErrorClass::session), 75);
  EXPECT_EQ(code_of(ErrorClass::proc_aborted), 76);
  EXPECT_EQ(code_of(ErrorClass::value_too_large), 77);
  EXPECT_EQ(code_of(ErrorClass::errhandler), 80);
  EXPECT_FALSE(class_of(-1));
}

void* any_library(const char*) {
  static char object;
  return &object;
}
void* no_library(const char*) { return nullptr; }

TEST(Predefined, ErrorWithoutALibraryNamesTheSetting) {
  auto resolved = resolve_predefined(no_library);
  if (resolved) GTEST_SKIP() << "another test has already resolved them in this process";
  EXPECT_EQ(resolved.error().error_class(), ErrorClass::other);
  EXPECT_NE(resolved.error().text().find("INTERSESSION_LIBRARY"), std::string::npos);
}

TEST(Predefined, TypesAndOperationsAreFoundByHandle) {
  ASSERT_TRUE(resolve_predefined(any_library));
  const types::Type* type = find_type(MPI_DOUBLE_INT);
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->name, "MPI_DOUBLE_INT");
  EXPECT_EQ(handle_of(*type), MPI_DOUBLE_INT);
  const types::Op* op = find_op(MPI_BXOR);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->code, types::Operator::bxor);
  EXPECT_EQ(MPI_Comm(predefined.comm_null), MPI_COMM_NULL);
}

TEST(Predefined, SizesMatchTheHandles) {
  ASSERT_TRUE(resolve_predefined(any_library));
  // Bits 8 to 15 of a predefined handle are the size of the type, except for pairs.
  predefined_types.for_each([](Bits handle, const types::Type& type) {
    if (handle >> 28 == 0x4) {
      EXPECT_EQ(handle >> 8 & 0xff, type.size) << type.name;
    }
  });
}

TEST(Predefined, OtherIntegersAreNotTypes) {
  ASSERT_TRUE(resolve_predefined(any_library));
  EXPECT_EQ(find_type(MPI_DATATYPE_NULL), nullptr);
  EXPECT_EQ(find_type(MPI_Datatype{}), nullptr);
  EXPECT_EQ(find_op(MPI_OP_NULL), nullptr);
}

TEST(Handle, PredefinedHandlesAreNotOurs) {
  for (int handle : {MPI_COMM_NULL,
                     MPI_COMM_WORLD,
                     MPI_COMM_SELF,
                     MPI_GROUP_NULL,
                     MPI_GROUP_EMPTY,
                     MPI_REQUEST_NULL,
                     MPI_MESSAGE_NO_PROC,
                     MPI_DATATYPE_NULL,
                     MPI_INT,
                     MPI_DOUBLE_INT,
                     MPI_OP_NULL,
                     MPI_SUM,
                     MPI_ERRHANDLER_NULL,
                     MPI_ERRORS_RETURN,
                     MPI_INFO_NULL,
                     MPI_INFO_ENV,
                     MPI_WIN_NULL,
                     MPI_SESSION_NULL,
                     0,
                     -1})
    EXPECT_FALSE(is_ours(handle)) << std::hex << handle;
}

}  // namespace
}  // namespace shim::intercept::abi
