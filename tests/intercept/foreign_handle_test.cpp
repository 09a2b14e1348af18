// SPDX-License-Identifier: BSD-3-Clause
// Tests each function with an invalid handle of ours (stale, or of the wrong kind) in each of its
// handle parameters: the function must return an error, and never pass the handle to the native
// library, which could use it as an address. An implementation may call the native library with the
// other handles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "shim/intercept/abi/handle.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "tests/intercept/forwarding.hpp"

namespace shim::intercept::testing {
namespace {

/// Functions that end the process with any arguments.
const std::set<std::string> kDeadly = {"Abort"};
/// Native function that raises errors of objects without an error handler of their own.
const std::string kRaising = "Comm_call_errhandler";

/// Return an address for a predefined object of a simulated native library; each name has its own.
void* address_of_symbol(const char* name) {
  static std::map<std::string, std::unique_ptr<char>> symbols;
  auto& symbol = symbols[name];
  if (!symbol) symbol = std::make_unique<char>();
  return symbol.get();
}

class ForeignHandle : public ::testing::TestWithParam<std::tuple<EntryPoint, bool>> {
 protected:
  static void SetUpTestSuite() {
    setenv("INTERSESSION_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
    abi::handle_was_made.store(true);
    ASSERT_TRUE(abi::resolve_predefined(address_of_symbol));
    record_all(active_table);
    active_table.Comm_get_errhandler.set([](MPI_Comm, MPI_Errhandler* handler) {
      *handler = distinct<MPI_Errhandler>(kMaxParameters);  // any handler that is not fatal
      return MPI_SUCCESS;
    });
  }
  void SetUp() override {
    current_table.store(std::get<1>(GetParam()) ? &active_table : &inactive_table,
                        std::memory_order_release);  // pairs with native()
  }

  /// Call the function with this handle as the parameter `index`; check the result and native
  /// calls.
  void call_with(const EntryPoint& entry, std::size_t index, abi::HandleKind kind) {
    for (std::size_t i = 0; i <= kMaxParameters; ++i)
      std::fill_n(area(i), kAreaBytes, std::byte{0});
    recorded().clear();
    const abi::Bits handle = abi::encode({kind, 4242, 5});
    const std::uint64_t returned = entry.with_handle(index, handle);
    if (entry.returns_code) {
      EXPECT_NE(returned, std::uint64_t{MPI_SUCCESS}) << "parameter " << index;
    }
    for (const Recorded& call : recorded()) {
      // errors of files are raised at MPI_FILE_NULL
      const bool is_of_handler = call.function == "File_get_errhandler" ||
                                 call.function == "File_call_errhandler";
      const bool is_at_null_file = is_of_handler &&
                                   call.arguments[0] == reinterpret_cast<std::uintptr_t>(
                                                            MPI_File(abi::predefined.file_null));
      const bool is_raised = call.function == kRaising || is_at_null_file;
      EXPECT_TRUE(is_raised || call.function != entry.function)
          << "parameter " << index << " reached the native library";
      EXPECT_EQ(std::ranges::count_if(call.arguments,
                                      [](std::uint64_t bits) { return abi::is_ours_bits(bits); }),
                0)
          << "parameter " << index << " was passed to " << call.function;
    }
  }

  void call_with_each_parameter(bool of_right_kind) {
    const EntryPoint& entry = std::get<0>(GetParam());
    for (std::size_t index = 0; index < entry.kinds.size(); ++index) {
      const bool is_read_through = entry.address_that_decides == static_cast<int>(index);
      if (!entry.by_value[index] && !is_read_through) continue;
      const abi::HandleKind right = entry.kinds[index] != abi::HandleKind::none
                                        ? entry.kinds[index]
                                        : abi::HandleKind::comm;
      const abi::HandleKind wrong = right == abi::HandleKind::comm ? abi::HandleKind::group
                                                                   : abi::HandleKind::comm;
      call_with(entry, index, of_right_kind ? right : wrong);
    }
  }
};

TEST_P(ForeignHandle, StaleHandleIsAnError) { call_with_each_parameter(true); }
TEST_P(ForeignHandle, HandleOfTheWrongKindIsAnError) { call_with_each_parameter(false); }

std::vector<EntryPoint> functions_that_return() {
  std::vector<EntryPoint> found;
  std::ranges::copy_if(entry_points(), std::back_inserter(found),
                       [](const EntryPoint& entry) { return !kDeadly.contains(entry.function); });
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, ForeignHandle,
                         ::testing::Combine(::testing::ValuesIn(functions_that_return()),
                                            ::testing::Bool()),
                         [](const auto& row) {
                           return std::string(std::get<0>(row.param).function) +
                                  (std::get<1>(row.param) ? "_active" : "_idle");
                         });

}  // namespace
}  // namespace shim::intercept::testing
