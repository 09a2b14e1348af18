// SPDX-License-Identifier: BSD-3-Clause
// Counts the instructions between a program's call on native objects and the native library. The
// processor traps after each instruction while its trap flag (EFLAGS.TF) is set.
#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "instructions_allowed.h"
#include "tests/intercept/forwarding.hpp"

namespace shim::intercept::testing {
namespace {

constexpr std::uint64_t kTrapFlag = 0x100;
constexpr int kMaxSteps = 10'000;  ///< a call with more instructions is not forwarded

/// One call, which the signal handler traces.
struct TracedCall {
  std::uint64_t from, to;
  int steps_in_all = 0;
  int steps = -1;  ///< instructions since `from`; -1 before
  bool has_arrived = false;
};
TracedCall* volatile current = nullptr;

void on_step(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto at = static_cast<std::uint64_t>(registers[REG_RIP]);  // the next instruction
  TracedCall& traced = *current;
  if (traced.steps >= 0) ++traced.steps;
  if (at == traced.from) traced.steps = 0;
  traced.has_arrived = traced.steps >= 0 && at == traced.to;
  if (traced.has_arrived || ++traced.steps_in_all > kMaxSteps)
    registers[REG_EFL] &= ~static_cast<greg_t>(kTrapFlag);
}

/// Return the number of instructions from the first one of the entry point to the native function;
/// -1 if the call does not reach it.
int steps_of(const EntryPoint& entry) {
  TracedCall traced{entry.address, entry.recorder};
  current = &traced;
  __writeeflags(__readeflags() | kTrapFlag);
  entry.through_mpi();
  return traced.has_arrived ? traced.steps : -1;
}

/// Functions that check further arguments: a key, an error handler that the native library may
/// lack, or a Fortran integer.
const std::set<std::string> kWithFurtherChecks = {"Attr_get",
                                                  "Attr_put",
                                                  "Attr_delete",
                                                  "Comm_get_attr",
                                                  "Comm_set_attr",
                                                  "Comm_delete_attr",
                                                  "Type_get_attr",
                                                  "Type_set_attr",
                                                  "Type_delete_attr",
                                                  "Win_get_attr",
                                                  "Win_set_attr",
                                                  "Win_delete_attr",
                                                  "Comm_set_errhandler",
                                                  "File_set_errhandler",
                                                  "Win_set_errhandler",
                                                  "Errhandler_set",
                                                  "Errhandler_c2f",
                                                  "Errhandler_f2c",
                                                  "Comm_f2c",
                                                  "File_f2c",
                                                  "Group_f2c",
                                                  "Info_f2c",
                                                  "Message_f2c",
                                                  "Op_f2c",
                                                  "Request_f2c",
                                                  "Type_f2c",
                                                  "Win_f2c"};
constexpr int kFurtherCheckInstructions = 4;
/// The compiler also makes tail calls with parameters in memory, but copies them onto themselves.
constexpr int kParametersInRegisters = 6, kInstructionsToMoveOne = 4;

int handles_of(const EntryPoint& entry) {
  return static_cast<int>(std::ranges::count(entry.by_value, true));
}

int allowed_for(const EntryPoint& entry) {
  const int in_memory = std::max(static_cast<int>(entry.kinds.size()) - kParametersInRegisters, 0);
  return instructions_allowed(handles_of(entry)) + kInstructionsToMoveOne * in_memory +
         (kWithFurtherChecks.contains(entry.function) ? kFurtherCheckInstructions : 0);
}

/// True if the instructions can be counted: all handles are by value, because the time for an array
/// depends on its length; and the parameters are known, unlike those of MPI_Pcontrol.
bool is_countable(const EntryPoint& entry) {
  const auto handles = std::ranges::count_if(
      entry.kinds, [](abi::HandleKind kind) { return kind != abi::HandleKind::none; });
  return entry.is_forwarded && entry.address_that_decides < 0 && handles == handles_of(entry) &&
         std::string(entry.function) != "Pcontrol";
}

class Instructions : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    struct sigaction action = {};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
    record_all(active_table);
    area(0);  // allocates the areas, which takes many instructions
    current_table.store(&active_table, std::memory_order_release);  // pairs with native()
  }
};

TEST_F(Instructions, OfAForwardedCallAreWithinTheLimit) {
  int counted = 0;
  for (const EntryPoint& entry : entry_points()) {
    if (!is_countable(entry)) continue;
    const int steps = steps_of(entry);
    EXPECT_GT(steps, 0) << entry.function << " did not reach the native library";
    EXPECT_LE(steps, allowed_for(entry))
        << entry.function << ": " << handles_of(entry) << " handles";
    ++counted;
  }
  EXPECT_GT(counted, 300);
}

}  // namespace
}  // namespace shim::intercept::testing
