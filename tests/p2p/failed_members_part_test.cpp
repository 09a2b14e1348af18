// SPDX-License-Identifier: BSD-3-Clause
// Tests FailedMembers without an engine.
#include "shim/p2p/failed_members.hpp"

#include <gmock/gmock.h>

#include "shim/p2p/context_failures.hpp"
#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::ElementsAre;

struct FailedMembersPart : testing::Test {
  ~FailedMembersPart() override {
    for (ReceiveRequest* each : {&from_any, &from_one, &of_library})
      if (each->posted) context.matching(Plane::user).remove(*each);
  }
  RecordedEnds ends;
  FailedMembers part{ends};
  Context context{nullptr, spec_of(3)};
  types::Buffer nothing{nullptr, 0, &types::byte_type()};
  ReceiveRequest from_any{nullptr, {&context, kAnySource, 1}, nothing};
  ReceiveRequest from_one{nullptr, {&context, 1, 1}, nothing};
  ReceiveRequest of_library{nullptr, {&context, kAnySource, 2}, nothing};
};

TEST_F(FailedMembersPart, ReceiveOfProgramFromAnySourceSettles) {
  from_any.outlives_failures = true;
  post(from_any);
  part.record_failed_rank(context, 2);
  EXPECT_TRUE(from_any.has_settled());
  EXPECT_FALSE(from_any.is_done());
  const auto why = FailedMembers::pending_failure(from_any);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->error_class(), base::ErrorClass::proc_failed_pending);
  EXPECT_TRUE(part.has_unacknowledged());
}

TEST_F(FailedMembersPart, AcknowledgementLetsReceiveWaitAgain) {
  from_any.outlives_failures = true;
  post(from_any);
  part.record_failed_rank(context, 2);
  part.record_failed_rank(context, 1);
  part.record_failed_rank(context, 2);
  EXPECT_THAT(context.failed_ranks, ElementsAre(2, 1));
  EXPECT_EQ(part.acknowledge(context, 1), 1);
  EXPECT_TRUE(from_any.has_settled());
  EXPECT_EQ(part.acknowledge(context, 2), 2);
  EXPECT_FALSE(from_any.has_settled());
  EXPECT_FALSE(FailedMembers::pending_failure(from_any));
  EXPECT_FALSE(part.has_unacknowledged());
}

TEST_F(FailedMembersPart, OtherReceivesFromAnySourceEnd) {
  post(of_library);
  part.record_failed_rank(context, 2);
  EXPECT_THAT(ends.receives, ElementsAre(&of_library));
  ASSERT_NE(of_library.error(), nullptr);
  EXPECT_EQ(of_library.error()->error_class(), base::ErrorClass::proc_failed);
}

TEST_F(FailedMembersPart, ReceiveFromFailedMemberEndsAndOthersStay) {
  Peer gone({0, 1});
  gone.failure = died_error(gone.process);
  context.peers.at(1) = &gone;
  context.failed = 1;
  context.others = 2;
  from_any.outlives_failures = true;
  post(from_any);
  post(from_one);
  part.end_unsatisfiable(context);
  EXPECT_THAT(ends.receives, ElementsAre(&from_one));
  EXPECT_FALSE(from_any.has_settled());
}

TEST_F(FailedMembersPart, EndOfCommunicatorCountsAsAcknowledgement) {
  part.record_failed_rank(context, 1);
  part.drop_unacknowledged(context);
  part.drop_unacknowledged(context);
  EXPECT_FALSE(part.has_unacknowledged());
}

}  // namespace
}  // namespace shim::p2p
