// SPDX-License-Identifier: BSD-3-Clause
// Tests that references to functions are found, in a program with (PIE) and without a
// position-independent executable: the linker lists no symbols of the latter in its hash table.
#include "shim/intercept/native/undefined_symbols.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace shim::intercept {
namespace {

TEST(References, FindsACalledFunction) {
  // 0: the session's leader lives outside this pid namespace (getsid(2), pid_namespaces(7)).
  EXPECT_GE(::getsid(0), 0);
  EXPECT_TRUE(program_refers_to("getsid"));
}

TEST(References, FindsAFunctionWhoseAddressIsTaken) {
  pid_t (*volatile function)(pid_t) = &::getpgid;
  EXPECT_GE(function(0), 0);
  EXPECT_TRUE(program_refers_to("getpgid"));
}

TEST(References, FindsNoFunctionThatNothingRefersTo) {
  EXPECT_FALSE(program_refers_to("intersession_no_such_function"));
}

// The program may have a copy of the object, to which the loader then binds all libraries.
TEST(References, FindsTheAddressThatALibraryUses) {
  const void* const in_library = dlsym(RTLD_DEFAULT, "_ZSt9terminatev");
  EXPECT_EQ(address_bound_in(in_library, "stdout"), static_cast<const void*>(&stdout));
}

TEST(References, FindsNoAddressOfASymbolThatNothingRefersTo) {
  const void* const in_library = dlsym(RTLD_DEFAULT, "_ZSt9terminatev");
  EXPECT_EQ(address_bound_in(in_library, "intersession_no_such_object"), nullptr);
  EXPECT_EQ(address_bound_in(nullptr, "stdout"), nullptr);
}

}  // namespace
}  // namespace shim::intercept
