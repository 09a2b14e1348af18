// SPDX-License-Identifier: BSD-3-Clause
// Tests creations with missing members: a creation fails after a time if a missing member can no
// longer call, and waits without limit otherwise.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "cluster.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr base::Nanoseconds kStuckAfter = 300'000'000;

void pause_for(base::Nanoseconds time) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(time));
}

/// Make progress, and so reply to status requests, until the condition holds.
template <typename Condition>
void serve_until(Member& member, Condition condition) {
  auto waited = member.process().engine().wait_until(condition, base::Deadline::after_seconds(20));
  EXPECT_TRUE(waited && *waited);
}

struct Case {
  std::uint32_t nodes, per_node;
  int missing;
};
void PrintTo(const Case& of, std::ostream* out) {
  *out << of.nodes << "x" << of.per_node << " " << of.missing;
}

class MissingMember : public ::testing::TestWithParam<Case> {
 protected:
  MissingMember() {
    cluster_.stuck_after() = kStuckAfter;
    for (int rank : cluster_.all())
      if (rank != missing_) others_.push_back(rank);
  }
  const int missing_ = GetParam().missing;
  Cluster cluster_{World::of(GetParam().nodes, GetParam().per_node)};
  Ranks others_;
};

TEST_P(MissingMember, EndsTheCreationIfItHasFinalized) {
  std::atomic<int> with_session = 0, failed_so_far = 0;
  std::atomic<bool> has_ended = false;
  Collected<std::string> errors;
  cluster_.run([&](Member& member) {
    exercise(member.create_world("test.before"), 1);
    ++with_session;
    serve_until(member, [&] { return with_session == cluster_.size(); });
    if (member.rank() == missing_) {
      member.end();
      has_ended = true;
      while (failed_so_far < static_cast<int>(others_.size())) std::this_thread::yield();
      return;
    }
    serve_until(member, [&] { return has_ended.load(); });
    errors.add(error_text(member.try_create(cluster_.all(), "test.without")));
    ++failed_so_far;
    exercise(member.create(others_, "test.others"), 2);
    serve_until(member, [&] { return failed_so_far == static_cast<int>(others_.size()); });
  });
  const std::string reason = "process " + std::to_string(missing_) + " finalized its last session";
  EXPECT_THAT(errors.values(), Each(AllOf(StartsWith("MPI_ERR_PROC_ABORTED"), HasSubstr(reason),
                                          HasSubstr("0.3 s"))));
  EXPECT_EQ(errors.values().size(), others_.size());
}

TEST_P(MissingMember, IsWaitedForIfItBeginsAnotherSession) {
  std::atomic<int> with_session = 0, done = 0;
  cluster_.stuck_after() = 20'000'000'000;
  cluster_.run([&](Member& member) {
    exercise(member.create_world("test.before"), 1);
    ++with_session;
    serve_until(member, [&] { return with_session == cluster_.size(); });
    if (member.rank() == missing_) {
      member.end();
      pause_for(kStuckAfter);
      member.begin();
    }
    exercise(member.create_world("test.after"), 2);
    ++done;
    serve_until(member, [&] { return done == cluster_.size(); });
  });
}

TEST_P(MissingMember, IsWaitedForWhileItComputes) {
  cluster_.run([&](Member& member) {
    if (member.rank() == missing_) pause_for(4 * kStuckAfter);
    exercise(member.create_world("test.slow"), 1);
  });
}

TEST_P(MissingMember, IsWaitedForBeforeItBeginsASession) {
  std::thread late([&] {
    pause_for(4 * kStuckAfter);
    cluster_.run({missing_},
                 [&](Member& member) { exercise(member.create_world("test.late"), 1); });
  });
  cluster_.run(others_, [&](Member& member) { exercise(member.create_world("test.late"), 1); });
  late.join();
}

/// The sessions allow several threads, so another thread of each member might still call.
TEST_P(MissingMember, EndsBothCreationsIfItWaitsUnderAnotherTag) {
  Collected<std::string> errors;
  std::atomic<int> done = 0;
  cluster_.run([&](Member& member) {
    const char* tag = member.rank() == missing_ ? "test.one" : "test.another";
    errors.add(error_text(member.try_create(cluster_.all(), tag)));
    exercise(member.create_world("test.after"), 1);
    ++done;
    serve_until(member, [&] { return done == cluster_.size(); });
  });
  EXPECT_THAT(
      errors.values(),
      Each(AllOf(StartsWith("MPI_ERR_NOT_SAME"), HasSubstr("disagree on the tag"),
                 HasSubstr("\"test.one\""), HasSubstr("\"test.another\""), HasSubstr("0.3 s"))));
  EXPECT_EQ(errors.values().size(), static_cast<std::size_t>(cluster_.size()));
}

INSTANTIATE_TEST_SUITE_P(Worlds, MissingMember,
                         ::testing::Values(Case{1, 3, 0}, Case{1, 3, 2}, Case{2, 2, 0},
                                           Case{2, 2, 2}, Case{2, 2, 3}));

/// The node segment, and its information on members, is removed with the last session.
TEST(FinalizedMember, EndsTheCreationOfReinitializedMembers) {
  Cluster cluster(World::of(1, 3));
  cluster.stuck_after() = kStuckAfter;
  Collected<std::string> errors;
  std::atomic<int> ended = 0, failed_so_far = 0;
  cluster.run([&](Member& member) {
    exercise(member.create_world("test.before"), 1);
    member.end();
    ++ended;
    while (ended < cluster.size()) std::this_thread::yield();
    if (member.rank() == 1) return;
    member.begin();
    errors.add(error_text(member.try_create(cluster.all(), "test.without")));
    ++failed_so_far;
    serve_until(member, [&] { return failed_so_far == 2; });
  });
  EXPECT_THAT(errors.values(),
              Each(AllOf(StartsWith("MPI_ERR_PROC_ABORTED"), HasSubstr("process 1 finalized"))));
  EXPECT_EQ(errors.values().size(), 2u);
}

}  // namespace
}  // namespace shim::sessions::testing
