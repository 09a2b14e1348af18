// SPDX-License-Identifier: BSD-3-Clause
// A handle of ours that means nothing (freed long ago, or of the wrong kind), in each place of each function that takes one: an
// error, and never a call below with it, where it would be taken for an address. (A body may ask below about the other handles.)
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

/// These end the process, whatever they are given.
const std::set<std::string> kDeadly = {"Abort"};
/// The error handler of the library below that an error of an object without one of its own goes to.
const std::string kRaising = "Comm_call_errhandler";

/// The predefined objects of a library below that is not there: every name gets an address of its own.
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
      *handler = distinct<MPI_Errhandler>(kMaxParameters);  // any that is not fatal
      return MPI_SUCCESS;
    });
  }
  void SetUp() override {
    current_table.store(std::get<1>(GetParam()) ? &active_table : &idle_table, std::memory_order_release);  // pairs with native()
  }

  /// Calls with this handle in this place, and checks what came of it.
  void call_with(const EntryPoint& entry, std::size_t place, abi::Kind kind) {
    for (std::size_t i = 0; i <= kMaxParameters; ++i) std::fill_n(area(i), kAreaBytes, std::byte{0});
    recorded().clear();
    const abi::Bits handle = abi::encode({kind, 4242, 5});
    const std::uint64_t returned = entry.with_handle(place, handle);
    if (entry.returns_code) {
      EXPECT_NE(returned, std::uint64_t{MPI_SUCCESS}) << "parameter " << place;
    }
    for (const Recorded& call : recorded()) {
      // errors of files are raised at MPI_FILE_NULL
      const bool is_of_handler = call.function == "File_get_errhandler" || call.function == "File_call_errhandler";
      const bool is_at_null_file = is_of_handler && call.arguments[0] == reinterpret_cast<std::uintptr_t>(MPI_File(abi::predefined.file_null));
      const bool is_raised = call.function == kRaising || is_at_null_file;
      EXPECT_TRUE(is_raised || call.function != entry.function) << "parameter " << place << " reached the library below";
      EXPECT_EQ(std::ranges::count_if(call.arguments, [](std::uint64_t bits) { return abi::is_ours_bits(bits); }), 0)
          << "parameter " << place << " was handed to " << call.function;
    }
  }

  void call_in_every_place(bool of_right_kind) {
    const EntryPoint& entry = std::get<0>(GetParam());
    for (std::size_t place = 0; place < entry.kinds.size(); ++place) {
      const bool is_read_through = entry.address_that_decides == static_cast<int>(place);
      if (!entry.by_value[place] && !is_read_through) continue;
      const abi::Kind right = entry.kinds[place] != abi::Kind::none ? entry.kinds[place] : abi::Kind::comm;
      const abi::Kind wrong = right == abi::Kind::comm ? abi::Kind::group : abi::Kind::comm;
      call_with(entry, place, of_right_kind ? right : wrong);
    }
  }
};

TEST_P(ForeignHandle, ThatIsStale) { call_in_every_place(true); }
TEST_P(ForeignHandle, OfTheWrongKind) { call_in_every_place(false); }

std::vector<EntryPoint> survivable() {
  std::vector<EntryPoint> found;
  std::ranges::copy_if(entry_points(), std::back_inserter(found),
                       [](const EntryPoint& entry) { return !kDeadly.contains(entry.function); });
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, ForeignHandle, ::testing::Combine(::testing::ValuesIn(survivable()), ::testing::Bool()),
                         [](const auto& row) {
                           return std::string(std::get<0>(row.param).function) + (std::get<1>(row.param) ? "_active" : "_idle");
                         });

}  // namespace
}  // namespace shim::intercept::testing
