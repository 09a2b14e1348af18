// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/address_book.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

namespace shim::sessions {
namespace {

using base::ErrorClass;

constexpr base::ProcessId kFar{0, 3};

NetworkAddress address(std::uint32_t incarnation) {
  return {incarnation, transport::Bytes(17, static_cast<std::byte>(incarnation + 1))};
}

/// The address table of a node of two processes: present, absent, or full.
enum class Kind { with_table, without_table, full_table };

class AddressBookTest : public ::testing::TestWithParam<Kind> {
 protected:
  AddressBookTest() : marks_(1), records_(32) {
    if (GetParam() == Kind::without_table) return;
    for (AddressBook* book : {&one_, &other_})
      book->use({marks_, records_, [](std::byte*, std::size_t) -> base::Status {
                   if (GetParam() == Kind::full_table)
                     return base::Error(ErrorClass::no_space, "full");
                   return {};
                 }});
  }
  static bool learn(AddressBook& book, std::uint32_t incarnation) {
    return book.record(kFar, incarnation, address(incarnation).bytes);
  }
  bool has_table() const { return GetParam() == Kind::with_table; }

  std::vector<std::atomic<std::uint64_t>> marks_;
  std::vector<node::AddressRecord> records_;
  AddressBook one_, other_;
};

TEST_P(AddressBookTest, FindsLearnedAddresses) {
  EXPECT_EQ(one_.find(kFar).error().error_class(), ErrorClass::intern);
  EXPECT_FALSE(learn(one_, 0)) << "there was no earlier incarnation";
  ASSERT_TRUE(one_.find(kFar));
  EXPECT_EQ(*one_.find(kFar), address(0));
  EXPECT_EQ(one_.incarnation_of(kFar), 0u);
  EXPECT_EQ(one_.node_has_address(kFar, 0), has_table());
}

TEST_P(AddressBookTest, FindsAddressesLearnedByAnotherProcessOfTheNode) {
  learn(one_, 0);
  EXPECT_EQ(other_.incarnation_of(kFar).has_value(), has_table());
  EXPECT_EQ(other_.find(kFar).has_value(), has_table());
}

TEST_P(AddressBookTest, ReportsALaterIncarnationOnce) {
  learn(one_, 0);
  EXPECT_TRUE(learn(one_, 2));
  EXPECT_FALSE(learn(one_, 2));
  EXPECT_FALSE(learn(one_, 1)) << "a lower incarnation is not new";
  EXPECT_EQ(*one_.find(kFar), address(2));
}

/// A process that has not learned of the later incarnation still sends to the earlier one. These
/// messages must not reach the later incarnation.
TEST_P(AddressBookTest, OldCommunicatorsIgnoreIncarnationsOnlyOthersLearned) {
  learn(one_, 0);
  learn(other_, 0);
  learn(other_, 1);
  auto found = one_.find(kFar);
  if (!has_table()) {
    EXPECT_EQ(*found, address(0));
    return;
  }
  EXPECT_EQ(found.error().error_class(), ErrorClass::proc_aborted);
  EXPECT_EQ(one_.incarnation_of(kFar), 1u);
  EXPECT_TRUE(one_.record_incarnation(kFar, 1));
  EXPECT_EQ(*one_.find(kFar), address(1));
}

/// No process uses the old address any more, or a process of another job does.
TEST_P(AddressBookTest, NeverReturnsTheAddressOfAFormerIncarnation) {
  learn(one_, 0);
  EXPECT_TRUE(one_.record_incarnation(kFar, 1));
  const auto found = one_.find(kFar);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().error_class(), ErrorClass::intern);
  EXPECT_FALSE(learn(one_, 1)) << "this incarnation is already known";
  EXPECT_EQ(*one_.find(kFar), address(1));
}

INSTANTIATE_TEST_SUITE_P(Kinds, AddressBookTest,
                         ::testing::Values(Kind::with_table, Kind::without_table,
                                           Kind::full_table));

}  // namespace
}  // namespace shim::sessions
