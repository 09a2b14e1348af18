// SPDX-License-Identifier: BSD-3-Clause
// The addresses that are handles of ours over Open MPI: those that no process has.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept::abi {
namespace {

const Bits kLeaked = encode({Kind::comm, 3, 1});

TEST(HandleAddress, WhatAProcessHasIsNotOurs) {
  static int data = 0;
  const auto on_heap = std::make_unique<int>(0);
  for (const void* address : {static_cast<const void*>(&data), static_cast<const void*>(on_heap.get()), static_cast<const void*>(&on_heap),
                              static_cast<const void*>(nullptr), reinterpret_cast<const void*>(&::strlen)})
    EXPECT_FALSE(is_ours_bits(bits(address))) << address;
}

/// Only who asks for a place above the usual ones gets it, in systems that have any; never one in the upper half.
TEST(HandleAddress, TheSystemGivesNobodyOne) {
  void* got = mmap(reinterpret_cast<void*>(kBase), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got != MAP_FAILED) {
    EXPECT_FALSE(is_ours_bits(bits(got)));
    munmap(got, 4096);
  }
  EXPECT_EQ(mmap(reinterpret_cast<void*>(kBase), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
}

/// The exit code says where the process stood: 0 at the handle itself.
void leave_with_place(int, siginfo_t* info, void*) { _exit(info->si_addr == reinterpret_cast<void*>(kLeaked) ? 0 : 1); }

/// Sanitizers would look at what they know of that address first, and fault elsewhere.
__attribute__((no_sanitize("address", "thread", "undefined"))) void look_where_it_leads() {
  struct sigaction action = {};
  action.sa_sigaction = leave_with_place;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  *reinterpret_cast<volatile int*>(kLeaked) = 1;
  _exit(2);
}

TEST(HandleAddress, ALeakIntoOtherCodeFaultsAtTheHandle) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(look_where_it_leads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace shim::intercept::abi
