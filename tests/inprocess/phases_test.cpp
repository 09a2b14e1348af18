// SPDX-License-Identifier: BSD-3-Clause
// Tests the trace phases of four processes on two nodes, each in its role.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <string>
#include <thread>
#include <vector>

#include "cluster.hpp"

namespace shim::sessions::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAreArray;

/// Records the phases of one process; other threads can wait for a phase.
class RecordedPhases final : public base::PhaseListener {
 public:
  std::uint64_t next_number() override { return ++numbers_; }
  void set_process(std::uint32_t own_rank, std::uint32_t, const std::string&) override {
    rank = own_rank;
  }
  void on_event(const base::PhaseEvent& event) override {
    static constexpr const char* kWhat[] = {" begins", " ends", " fails"};
    std::lock_guard guard(mutex_);
    lines_.push_back(base::name_of(event.phase) + std::string(kWhat[static_cast<int>(event.what)]) +
                     (event.peer >= 0 ? " by " + std::to_string(event.peer) : ""));
    grown_.notify_all();
  }
  void wait_for(const std::string& line) {
    std::unique_lock lock(mutex_);
    grown_.wait(lock,
                [&] { return std::find(lines_.begin(), lines_.end(), line) != lines_.end(); });
  }
  const std::vector<std::string>& lines() const { return lines_; }
  std::uint32_t rank = 99;

 private:
  std::uint64_t numbers_ = 0;
  std::mutex mutex_;
  std::condition_variable grown_;
  std::vector<std::string> lines_;
};

/// Return the phases that all processes have, with the given phases of the wait. Only node leaders
/// publish their address.
std::vector<std::string> with_wait(const std::vector<std::string>& wait) {
  const bool is_root = wait.front() == "collect begins";
  std::vector<std::string> all;
  auto step = [&](const char* phase) {
    all.insert(all.end(), {std::string(phase) + " begins", std::string(phase) + " ends"});
  };
  for (const char* phase : {"launcher", "node_segment", "node_map", "engine"}) step(phase);
  if (is_root) step("publish");
  step("links");
  all.insert(all.end(), wait.begin(), wait.end());
  for (const char* phase : {"spread", "context", "flush", "leave"}) step(phase);
  return all;
}

TEST(PhasesOfACreation, EachRoleHasItsPhasesAndEachWaitNamesTheProcessThatEndedIt) {
  std::array<RecordedPhases, 4> phases;
  Cluster cluster(World::of(2, 2));
  auto live = [&](int rank) {
    Factories factories = cluster.factories(rank);
    factories.phases = &phases[static_cast<std::size_t>(rank)];
    auto process = Process::start(Cluster::settings(), factories);
    ASSERT_TRUE(process) << process.error().text();
    auto session = std::make_shared<Session>(source_of(*std::move(process)), SessionOptions{},
                                             nullptr);
    // the other members call after their node leader waits, so that its wait ends with a message
    if (rank % 2 == 1) phases[static_cast<std::size_t>(rank - 1)].wait_for("collect begins");
    auto created = create_from_group(session, *session->group_of_pset("mpi://WORLD"), "test.phases",
                                     nullptr, nullptr);
    EXPECT_TRUE(created) << created.error().text();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) threads.emplace_back(live, rank);
  for (std::thread& thread : threads) thread.join();

  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(phases[rank].rank, rank);
  auto collecting = [](const char* last) {
    return with_wait({"collect begins", std::string("collect ends by ") + last});
  };
  EXPECT_THAT(phases[0].lines(),
              AnyOf(ElementsAreArray(collecting("1")), ElementsAreArray(collecting("2"))));
  EXPECT_THAT(phases[1].lines(),
              ElementsAreArray(with_wait({"outcome begins", "outcome ends by 0"})));
  auto below = [](const char* first, const char* second) {
    return with_wait(
        {"collect begins", "parent begins", first, second, "outcome begins", "outcome ends by 0"});
  };
  EXPECT_THAT(phases[2].lines(),
              AnyOf(ElementsAreArray(below("collect ends by 3", "parent ends by 0")),
                    ElementsAreArray(below("parent ends by 0", "collect ends by 3"))));
  EXPECT_THAT(phases[3].lines(),
              ElementsAreArray(with_wait({"outcome begins", "outcome ends by 2"})));
}

}  // namespace
}  // namespace shim::sessions::testing
