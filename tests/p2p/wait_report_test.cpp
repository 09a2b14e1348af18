// SPDX-License-Identifier: BSD-3-Clause
// Tests the reports of blocked calls.
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "shim/transport/self/self.hpp"
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class HaloLabel final : public ContextLabel {
 public:
  std::string text() const override { return "communicator \"halo\""; }
};

class NamingRouter final : public Router {
 public:
  base::Result<Route> route_to(base::ProcessId) override {
    return Route{self.get(), self->address()};
  }
  bool is_alive(base::ProcessId) override { return true; }
  std::string describe(base::ProcessId process) override {
    return "process " + std::to_string(process.rank) + ", node n0";
  }
  const std::unique_ptr<transport::Transport> self = transport::make_self();
};

/// An engine that logs to a pipe, with a communicator of two processes, of which only one exists.
class WaitReport : public testing::Test {
 protected:
  WaitReport() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~WaitReport() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  void begin(double report_after) {
    base::Settings settings;
    settings.spin = settings.yield = 0;
    settings.report_after = report_after;
    log_.emplace(base::LogLevel::warn, "n0:0", ends_[1]);
    engine_ = std::make_unique<Engine>(
        EngineSpec{.settings = settings,
                   .log = &*log_,
                   .self = {0, 0},
                   .router = &router_,
                   .transports = {router_.self.get()},
                   .reports = {.requests = &requests_,
                               .current_call = [] { return std::string("MPI_Test_call"); }}});
    auto bases = std::make_shared<ContextBases>();
    bases->common = 100;
    context_ = engine_->make_context(
        {std::make_shared<Everyone>(2), 0, bases, 100, {}, std::make_shared<HaloLabel>()});
  }
  /// Return the next line of the log; "" if none comes within this time.
  std::string line(int milliseconds = 20'000) const {
    pollfd readable{ends_[0], POLLIN, 0};
    if (::poll(&readable, 1, milliseconds) != 1) return {};
    std::array<char, 4096> bytes;
    const auto length = ::read(ends_[0], bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(length)};
  }
  /// Receive from this process, and return the first line that the waiting thread writes.
  std::string report_of_receive(
      int tag, const std::function<void()>& meanwhile = [] {}) {
    Data data(1);
    std::thread receiver([&] { EXPECT_TRUE(engine_->recv(*context_, into(data), 0, tag)); });
    meanwhile();
    std::string text = line();
    const Data sent(1);
    EXPECT_TRUE(engine_->send(*context_, from(sent), 0, 7, SendMode::standard));
    receiver.join();
    return text;
  }

  std::array<int, 2> ends_{};
  std::atomic<std::uint32_t> requests_{0};
  NamingRouter router_;
  std::optional<base::Log> log_;
  std::unique_ptr<Engine> engine_;
  ContextPtr context_;
};

TEST_F(WaitReport, OfAReceiveNamesCallPeerTagAndCommunicator) {
  begin(0.05);
  EXPECT_THAT(report_of_receive(7),
              MatchesRegex("intersession.n0:0. warn: MPI_Test_call has waited 0\\.[0-9]+ s for a "
                           "message with tag 7 from rank 0 .process 0, node n0.; communicator "
                           "\"halo\"\n(.*\n)*"));
}

TEST_F(WaitReport, OfAReceiveNamesTheWildcardTag) {
  begin(0.05);
  EXPECT_THAT(report_of_receive(kAnyTag), HasSubstr("for a message with any tag from rank 0"));
}

TEST_F(WaitReport, ComesAtARequestWithoutAnInterval) {
  begin(-1);
  std::atomic<bool> is_over{false};
  std::thread requester;
  const std::string text = report_of_receive(7, [&] {
    requester = std::thread([&] {
      while (!is_over) {
        requests_.fetch_add(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  });
  is_over = true;
  requester.join();
  EXPECT_THAT(text, HasSubstr("has waited"));
}

TEST_F(WaitReport, DoesNotComeByDefault) {
  begin(-1);
  EXPECT_FALSE(
      value_of(engine_->wait_until([] { return false; }, base::Deadline::after_seconds(0.2))));
  EXPECT_EQ(line(0), "");
}

/// A call that reports by itself at the interval.
class SilentCall final : public WaitSubject {
 public:
  void describe(WaitDescription& description) const override {
    description.text = "a creation";
    description.is_only_on_request = true;
  }
};

TEST_F(WaitReport, OfACallThatReportsByItselfComesOnlyAtARequest) {
  begin(0.02);
  SilentCall subject;
  EXPECT_FALSE(value_of(
      engine_->wait_until([] { return false; }, subject, base::Deadline::after_seconds(0.2))));
  EXPECT_EQ(line(0), "");
  requests_.fetch_add(1);
  EXPECT_FALSE(value_of(
      engine_->wait_until([] { return false; }, subject, base::Deadline::after_seconds(0.2))));
  EXPECT_THAT(line(0), HasSubstr("MPI_Test_call has waited"));
}

TEST_F(WaitReport, OfSeveralReceivesInACollectiveNamesTheRanks) {
  begin(0.02);
  class Collective final : public WaitSubject {
   public:
    explicit Collective(const Context& context) : context_(context) {}
    void describe(WaitDescription& description) const override {
      for (int rank : {0, 1})
        description.awaited.push_back(
            {.context = &context_, .rank = rank, .plane = Plane::collective});
    }

   private:
    const Context& context_;
  } subject(*context_);
  EXPECT_FALSE(value_of(
      engine_->wait_until([] { return false; }, subject, base::Deadline::after_seconds(0.2))));
  EXPECT_THAT(line(0), HasSubstr(" s for rank 0 (process 0, node n0), rank 1 (process 1, node n0) "
                                 "in a collective operation; communicator \"halo\"\n"));
}

}  // namespace
}  // namespace shim::p2p
