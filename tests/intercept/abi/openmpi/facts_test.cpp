// SPDX-License-Identifier: BSD-3-Clause
// Tests the properties of Open MPI: error codes and predefined handles.
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

TEST(Codes, MatchTheSubstrateAndOpenMpi5) {
  EXPECT_EQ(code_of(ErrorClass::success), 0);
  EXPECT_EQ(code_of(ErrorClass::comm), 5);
  EXPECT_EQ(code_of(ErrorClass::arg), 13);
  EXPECT_EQ(code_of(ErrorClass::in_status), 18);
  EXPECT_EQ(code_of(ErrorClass::proc_aborted), 74);
  EXPECT_EQ(code_of(ErrorClass::session), 78);
  EXPECT_EQ(code_of(ErrorClass::value_too_large), 79);
  EXPECT_FALSE(class_of(MPI_ERR_LASTCODE + 1));
  EXPECT_FALSE(class_of(-1));
}

/// The symbols of a simulated library that has every requested symbol, each as large as Open MPI's.
std::map<std::string, std::unique_ptr<char[]>>& symbols() {
  static std::map<std::string, std::unique_ptr<char[]>> all;
  return all;
}
void* complete_library(const char* name) {
  auto& object = symbols()[name];
  if (!object) object = std::make_unique<char[]>(512);
  return object.get();
}
void* no_library(const char*) { return nullptr; }

TEST(Predefined, ErrorWithoutALibraryNamesTheSetting) {
  auto resolved = resolve_predefined(no_library);
  if (resolved) GTEST_SKIP() << "another test has already resolved them in this process";
  EXPECT_EQ(resolved.error().error_class(), ErrorClass::other);
  EXPECT_NE(resolved.error().text().find("INTERSESSION_LIBRARY"), std::string::npos);
}

TEST(Predefined, TypesAndOperationsAreFoundByHandle) {
  ASSERT_TRUE(resolve_predefined(complete_library));
  auto handle = [](const char* name) { return complete_library(name); };
  const types::Type* type = find_type(static_cast<MPI_Datatype>(handle("ompi_mpi_double_int")));
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->name, "MPI_DOUBLE_INT");
  EXPECT_EQ(static_cast<void*>(handle_of(*type)), handle("ompi_mpi_double_int"));
  const types::Op* op = find_op(static_cast<MPI_Op>(handle("ompi_mpi_op_bxor")));
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->code, types::Operator::bxor);
  EXPECT_EQ(static_cast<void*>(static_cast<MPI_Comm>(predefined.comm_null)),
            handle("ompi_mpi_comm_null"));
}

TEST(Predefined, EveryTypeOfTheTableIsResolved) {
  ASSERT_TRUE(resolve_predefined(complete_library));
  std::set<std::string_view> reached;
  predefined_types.for_each([&](Bits, const types::Type& type) { reached.insert(type.name); });
  for (const types::Type& type : types::predefined_types()) {
    const bool is_of_mpich = type.name.starts_with("MPIX_");
    EXPECT_NE(reached.contains(type.name), is_of_mpich) << type.name;
  }
}

TEST(Predefined, OtherPointersAreNotTypes) {
  ASSERT_TRUE(resolve_predefined(complete_library));
  int local = 0;
  EXPECT_EQ(find_type(reinterpret_cast<MPI_Datatype>(&local)), nullptr);
  EXPECT_EQ(find_type(nullptr), nullptr);
  EXPECT_EQ(find_op(nullptr), nullptr);
}

}  // namespace
}  // namespace shim::intercept::abi
