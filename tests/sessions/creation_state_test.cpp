// SPDX-License-Identifier: BSD-3-Clause
// Tests Creation: each state allows the events of the table and refuses all others.
#include "shim/sessions/creation_state.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace shim::sessions {
namespace {

using ::testing::ElementsAre;

constexpr CreationState kStates[] = {CreationState::announced, CreationState::collecting,
                                     CreationState::awaiting_outcome, CreationState::agreed,
                                     CreationState::failed};
constexpr CreationEvent kEvents[] = {CreationEvent::begin_call, CreationEvent::send_contribution,
                                     CreationEvent::agree, CreationEvent::fail};

const MemberEntry kOwn{.context_base = 7, .incarnation = 0, .address = {}};

/// Return a creation of four processes: on nodes 0 0 1 1, ranks 0 and 2 are node leaders.
Creation creation_at(std::uint32_t rank) {
  const std::vector<ProcessRange> ranges = {{0, 0, 4, 1}};
  const bootstrap::NodeMap nodes({"n0", "n1"}, {0, 0, 1, 1});
  const GroupPtr group = Group::of_ranges(ranges);
  return {CreationKey{"", "tag", ranges}, group, roles_in(*group, {0, rank}, {nodes})};
}

MemberTable entry_of(int rank) { return {rank, {.context_base = 9, .incarnation = 0}}; }

bool apply(Creation& creation, CreationEvent event) {
  switch (event) {
    case CreationEvent::begin_call:
      return creation.begin_call(kOwn, {});
    case CreationEvent::send_contribution:
      return creation.send_contribution();
    case CreationEvent::agree:
      return creation.agree({});
    case CreationEvent::fail:
      return creation.fail(base::Error(base::ErrorClass::other, "broken"), {});
  }
  return false;
}

/// Return the events that lead to a state.
std::vector<CreationEvent> way_to(CreationState state) {
  using enum CreationEvent;
  switch (state) {
    case CreationState::announced:
      return {};
    case CreationState::collecting:
      return {begin_call};
    case CreationState::awaiting_outcome:
      return {begin_call, send_contribution};
    case CreationState::agreed:
      return {begin_call, agree};
    case CreationState::failed:
      return {fail};
  }
  return {};
}

TEST(CreationState, AllowsTheEventsOfTheTableOnly) {
  int allowed = 0;
  for (const CreationState from : kStates)
    for (const CreationEvent event : kEvents) {
      Creation creation = creation_at(0);
      for (const CreationEvent before : way_to(from)) ASSERT_TRUE(apply(creation, before));
      ASSERT_EQ(creation.state(), from);
      const auto to = next_state(from, event);
      EXPECT_EQ(apply(creation, event), to.has_value());
      EXPECT_EQ(creation.state(), to.value_or(from));
      allowed += to.has_value() ? 1 : 0;
    }
  EXPECT_EQ(allowed, static_cast<int>(std::size(kCreationTransitions)));
}

TEST(CreationState, IsWaitingBetweenCallAndResult) {
  for (const CreationState state : kStates) {
    Creation creation = creation_at(0);
    for (const CreationEvent event : way_to(state)) ASSERT_TRUE(apply(creation, event));
    EXPECT_EQ(creation.is_waiting(),
              state == CreationState::collecting || state == CreationState::awaiting_outcome);
    EXPECT_EQ(creation.is_over(), state == CreationState::agreed || state == CreationState::failed);
  }
}

TEST(CreationState, NamesThePartnersThatItWaitsFor) {
  Creation root = creation_at(0), leader = creation_at(2), member = creation_at(3);
  EXPECT_THAT(root.missing_members(), ElementsAre(1, 2));
  root.add_contribution(2, entry_of(2));
  EXPECT_THAT(root.missing_members(), ElementsAre(1));
  EXPECT_THAT(leader.missing_members(), ElementsAre(3));
  leader.add_contribution(3, entry_of(3));
  EXPECT_THAT(leader.missing_members(), ElementsAre(0)) << "the parent's address";
  EXPECT_THAT(member.missing_members(), ElementsAre(2));
}

TEST(CreationState, WaitsForTheParentOnlyOnceItHasSent) {
  Creation leader = creation_at(2);
  ASSERT_TRUE(leader.begin_call(kOwn, {}));
  ASSERT_TRUE(leader.send_contribution());
  EXPECT_THAT(leader.missing_members(), ElementsAre(0));
}

TEST(CreationState, SubtreeIsCompleteWithTheOwnCall) {
  Creation leader = creation_at(2);
  leader.add_contribution(3, entry_of(3));
  EXPECT_FALSE(leader.subtree_is_complete());
  ASSERT_TRUE(leader.begin_call(kOwn, {}));
  EXPECT_TRUE(leader.subtree_is_complete());
  EXPECT_EQ(leader.own_call_id(), 7u);
  EXPECT_EQ(leader.entries().size(), 2u);
}

TEST(CreationState, KeepsTheFirstFailureForUnnotifiedPartners) {
  Creation root = creation_at(0);
  ASSERT_TRUE(root.fail(base::Error(base::ErrorClass::proc_aborted, "first"), {0, 1}));
  EXPECT_FALSE(root.fail(base::Error(base::ErrorClass::other, "second"), {3}));
  ASSERT_FALSE(root.result());
  EXPECT_EQ(root.result().error().text(), "first");
  EXPECT_TRUE(root.is_unnotified(1));
  EXPECT_FALSE(root.is_unnotified(3));
  root.record_notified(1);
  EXPECT_FALSE(root.all_are_notified());
  root.record_notified(0);
  EXPECT_TRUE(root.all_are_notified());
}

}  // namespace
}  // namespace shim::sessions
