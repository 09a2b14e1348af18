// SPDX-License-Identifier: BSD-3-Clause
// How many instructions stand between a program's call on objects of the library below and that library. The processor counts: it
// traps after each one while its trap flag is set (EFLAGS.TF).
#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <x86gprintrin.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "instructions_allowed.h"
#include "tests/intercept/forwarding.hpp"

namespace shim::intercept::testing {
namespace {

constexpr std::uint64_t kTrapFlag = 0x100;
constexpr int kMostSteps = 10'000;  ///< whoever has taken so many went elsewhere

/// One way through, watched by the handler.
struct Watched {
  std::uint64_t from, to;
  int steps_in_all = 0;
  int steps = -1;  ///< since `from`; -1 before
  bool has_arrived = false;
};
Watched* volatile watched = nullptr;

void on_step(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto at = static_cast<std::uint64_t>(registers[REG_RIP]);  // what comes next
  Watched& way = *watched;
  if (way.steps >= 0) ++way.steps;
  if (at == way.from) way.steps = 0;
  way.has_arrived = way.steps >= 0 && at == way.to;
  if (way.has_arrived || ++way.steps_in_all > kMostSteps) registers[REG_EFL] &= ~static_cast<greg_t>(kTrapFlag);
}

/// Instructions from the entry's first one until the library below has the call; -1 where it never had.
int steps_of(const EntryPoint& entry) {
  Watched way{entry.address, entry.recorder};
  watched = &way;
  __writeeflags(__readeflags() | kTrapFlag);
  entry.through_mpi();
  return way.has_arrived ? way.steps : -1;
}

/// These look at something else, too: the number of a key, a handler that the library below may lack, an integer of Fortran's.
const std::set<std::string> kLookFurther = {
    "Attr_get", "Attr_put", "Attr_delete", "Comm_get_attr", "Comm_set_attr", "Comm_delete_attr", "Type_get_attr", "Type_set_attr",
    "Type_delete_attr", "Win_get_attr", "Win_set_attr", "Win_delete_attr", "Comm_set_errhandler", "File_set_errhandler",
    "Win_set_errhandler", "Errhandler_set", "Errhandler_c2f", "Errhandler_f2c", "Comm_f2c", "File_f2c", "Group_f2c", "Info_f2c",
    "Message_f2c", "Op_f2c", "Request_f2c", "Type_f2c", "Win_f2c"};
constexpr int kToLookFurther = 4;
/// The compiler jumps with what did not fit into registers, too, but moves it onto itself.
constexpr int kParametersInRegisters = 6, kToMoveOne = 4;

int handles_of(const EntryPoint& entry) { return static_cast<int>(std::ranges::count(entry.by_value, true)); }

int allowed_for(const EntryPoint& entry) {
  const int in_memory = std::max(static_cast<int>(entry.kinds.size()) - kParametersInRegisters, 0);
  return instructions_allowed(handles_of(entry)) + kToMoveOne * in_memory + (kLookFurther.contains(entry.function) ? kToLookFurther : 0);
}

/// Handles by value alone: arrays are looked through, so their length counts. One call has parameters that its entry does not know.
bool is_countable(const EntryPoint& entry) {
  const auto handles = std::ranges::count_if(entry.kinds, [](abi::Kind kind) { return kind != abi::Kind::none; });
  return entry.is_forwarded && entry.address_that_decides < 0 && handles == handles_of(entry) && std::string(entry.function) != "Pcontrol";
}

class Instructions : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    struct sigaction action = {};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
    record_all(active_table);
    area(0);  // made at its first use, which takes long
    current_table.store(&active_table, std::memory_order_release);  // pairs with native()
  }
};

TEST_F(Instructions, OfAForwardedCall) {
  int counted = 0;
  for (const EntryPoint& entry : entry_points()) {
    if (!is_countable(entry)) continue;
    const int steps = steps_of(entry);
    EXPECT_GT(steps, 0) << entry.function << " did not arrive";
    EXPECT_LE(steps, allowed_for(entry)) << entry.function << ": " << handles_of(entry) << " handles";
    ++counted;
  }
  EXPECT_GT(counted, 300);
}

}  // namespace
}  // namespace shim::intercept::testing
