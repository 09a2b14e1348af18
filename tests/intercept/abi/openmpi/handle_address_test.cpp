// SPDX-License-Identifier: BSD-3-Clause
// Tests the addresses that are Intersession's handles over Open MPI: no process can map them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "shim/intercept/abi/handle.hpp"

namespace shim::intercept::abi {
namespace {

const Bits kLeaked = encode({HandleKind::comm, 3, 1});

TEST(HandleAddress, AddressesOfAProcessAreNotOurs) {
  static int data = 0;
  const auto on_heap = std::make_unique<int>(0);
  for (const void* address :
       {static_cast<const void*>(&data), static_cast<const void*>(on_heap.get()),
        static_cast<const void*>(&on_heap), static_cast<const void*>(nullptr),
        reinterpret_cast<const void*>(&::strlen)})
    EXPECT_FALSE(is_ours_bits(bits(address))) << address;
}

/// Linux maps addresses above the usual range only on request, if the processor has them, and never
/// addresses of the upper half.
TEST(HandleAddress, MmapNeverReturnsAHandleAddress) {
  void* got = mmap(reinterpret_cast<void*>(kBase), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);
  if (got != MAP_FAILED) {
    EXPECT_FALSE(is_ours_bits(bits(got)));
    munmap(got, 4096);
  }
  EXPECT_EQ(mmap(reinterpret_cast<void*>(kBase), 4096, PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            MAP_FAILED);
}

/// Signal handler: exit with 0 if the fault address is the handle, otherwise with 1.
void exit_with_fault_address(int, siginfo_t* info, void*) {
  _exit(info->si_addr == reinterpret_cast<void*>(kLeaked) ? 0 : 1);
}

/// Write to the handle's address. Not instrumented, because sanitizers would access shadow memory
/// first.
__attribute__((no_sanitize("address", "thread", "undefined"))) void dereference_leaked_handle() {
  struct sigaction action = {};
  action.sa_sigaction = exit_with_fault_address;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  *reinterpret_cast<volatile int*>(kLeaked) = 1;
  _exit(2);
}

TEST(HandleAddress, DereferencedHandleFaultsAtItsAddress) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(dereference_leaked_handle(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace shim::intercept::abi
