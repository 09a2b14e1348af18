// SPDX-License-Identifier: BSD-3-Clause
// Tests WaitReporter without an engine.
#include "shim/p2p/wait_reporter.hpp"

#include <gmock/gmock.h>

#include "tests/p2p/part_fixtures.hpp"

namespace shim::p2p {
namespace {

using testing::HasSubstr;

/// A call that waits for a message from rank 1.
class WaitsForRankOne final : public WaitSubject {
 public:
  explicit WaitsForRankOne(const Context& context) : context_(context) {}
  void describe(WaitDescription& description) const override {
    description.awaited.push_back({&context_, 1, 7});
  }

 private:
  const Context& context_;
};

struct WaitReporterPart : testing::Test {
  /// Report a call that has slept before.
  std::string second_report(const WaitReporter& reporter, WaitSubject& subject) {
    reporter.report_if_due(subject);
    EXPECT_EQ(log.text(), "");
    reporter.report_if_due(subject);
    return log.text();
  }

  std::atomic<std::uint32_t> requests{0};
  ToldRouter router;
  PipedLog log;
  Context context{nullptr, spec_of(2)};
};

constexpr double kNanosecond = 1e-9, kHour = 3600;

TEST_F(WaitReporterPart, ReportsAwaitedMessageAfterInterval) {
  const WaitReporter reporter({.current_call = [] { return std::string("MPI_Recv"); }}, kNanosecond,
                              &router, log.log());
  WaitsForRankOne subject(context);
  const std::string report = second_report(reporter, subject);
  EXPECT_THAT(report, HasSubstr("MPI_Recv has waited"));
  EXPECT_THAT(report, HasSubstr("a message with tag 7 from rank 1 (process 1, node n0)"));
}

TEST_F(WaitReporterPart, ReportsOncePerRequest) {
  const WaitReporter reporter({.requests = &requests}, kHour, &router, log.log());
  WaitFor subject("the other members", WaitFor::Reports::only_on_request);
  EXPECT_EQ(second_report(reporter, subject), "");
  requests = 1;
  reporter.report_if_due(subject);
  EXPECT_THAT(log.text(), HasSubstr("for the other members"));
  reporter.report_if_due(subject);
  EXPECT_EQ(log.text(), "");
}

TEST_F(WaitReporterPart, IntervalDoesNotReportCallThatReportsByItself) {
  const WaitReporter reporter({}, kNanosecond, &router, log.log());
  WaitFor subject("the other members", WaitFor::Reports::only_on_request);
  EXPECT_EQ(second_report(reporter, subject), "");
}

}  // namespace
}  // namespace shim::p2p
