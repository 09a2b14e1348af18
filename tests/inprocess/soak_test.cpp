// SPDX-License-Identifier: BSD-3-Clause
// Tests random schedules of creations: several threads of each process, overlapping groups, few
// tags that are reused at once, members that call late or in opposite orders, sessions that end in
// between. No schedule may deadlock, mix up creations or report an error.
//
// Each run has the schedule of seed 1, and one with a seed from the clock, which is printed if it
// fails. SOAK_SEED=N runs the schedule of seed N only, SOAK_SEEDS=N the seeds 1 to N,
// SOAK_CREATIONS=N sets the number of creations in each schedule.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>

#include "cluster.hpp"

namespace shim::sessions::testing {
namespace {

using namespace std::chrono_literals;

/// The timing of a schedule.
struct Pace {
  int steps_in_a_phase;
  double report_after;
  unsigned late_one_in;                             ///< one thread in so many is late for a step,
  std::chrono::microseconds least_late, most_late;  ///< by a time in this range
  unsigned creations;
};
constexpr Pace kQuick{25, 0.2, 8, 0us, 3000us, 150};
/// Late members of one node call about when the others stop waiting in the shared-memory rendezvous
/// and fall back to messages.
constexpr Pace kAtRendezvousTimeout{25, 0.2, 4, 4ms, 16ms, 100};
/// Late members call after several status requests and a report about them; most threads create for
/// the first time in their process.
constexpr Pace kBeyondReports{6, 0.02, 3, 150ms, 350ms, 24};

/// A process may use a tag in one call at a time only (MPI-4.1 §7.4.2), so each tag has its own
/// thread.
constexpr std::array kTags = {"test.a", "test.b", "test.c"};
constexpr int kThreads = static_cast<int>(kTags.size());

unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

/// One creation, as all members know it.
struct Step {
  Ranks members;
  int thread;  ///< of each member; determines the tag
  int number;
};

/// Steps between two points at which processes may re-initialize.
struct Phase {
  std::vector<Step> steps;
  std::vector<bool> reinitializes;  ///< by rank, after the steps
};

class Schedule {
 public:
  Schedule(unsigned seed, int processes, int creations, int steps_in_a_phase)
      : random_(seed), processes_(processes) {
    for (int number = 0; number < creations;) {
      Phase& phase = phases_.emplace_back();
      for (int i = 0; i < steps_in_a_phase && number < creations; ++i)
        phase.steps.push_back(step(number++));
      for (int rank = 0; rank < processes; ++rank) phase.reinitializes.push_back(one_in(3));
    }
  }
  const std::vector<Phase>& phases() const { return phases_; }

 private:
  bool one_in(unsigned n) { return random_() % n == 0; }

  Step step(int number) {
    // sometimes the previous group, so that equal groups and tags follow each other
    if (last_.empty() || !one_in(3)) last_ = some_ranks();
    return {last_, static_cast<int>(random_() % kTags.size()), number};
  }

  Ranks some_ranks() {
    Ranks ranks = range(0, processes_ - 1);
    std::shuffle(ranks.begin(), ranks.end(), random_);
    ranks.resize(2 + random_() % (ranks.size() - 1));
    return ranks;
  }

  std::mt19937 random_;
  int processes_;
  Ranks last_;
  std::vector<Phase> phases_;
};

/// Run the steps of one thread of one process, some of them late.
void run_schedule(const Member& member, const Phase& phase, int thread, const Pace& pace,
                  unsigned seed) {
  std::mt19937 random(seed);
  for (const Step& step : phase.steps) {
    if (step.thread != thread ||
        std::ranges::find(step.members, member.rank()) == step.members.end())
      continue;
    const auto range = static_cast<unsigned>((pace.most_late - pace.least_late).count());
    if (random() % pace.late_one_in == 0)
      std::this_thread::sleep_for(pace.least_late + std::chrono::microseconds(random() % range));
    exercise(member.create(step.members, kTags[static_cast<std::size_t>(thread)]), step.number);
    if (::testing::Test::HasFailure()) return;
  }
}

void run_process(Member& member, const Schedule& schedule, const Pace& pace, unsigned seed) {
  for (const Phase& phase : schedule.phases()) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        run_schedule(member, phase, thread, pace, seed + static_cast<unsigned>(thread));
      });
    for (std::thread& thread : threads) thread.join();
    if (::testing::Test::HasFailure()) return;
    if (!phase.reinitializes[static_cast<std::size_t>(member.rank())]) continue;
    member.end();
    member.begin();
  }
}

/// Return the seeds of the schedules to be run.
std::vector<unsigned> seeds() {
  if (std::getenv("SOAK_SEED")) return {number_from("SOAK_SEED", 1)};
  std::vector<unsigned> all(number_from("SOAK_SEEDS", 1));
  std::iota(all.begin(), all.end(), 1u);
  all.push_back(static_cast<unsigned>(std::chrono::system_clock::now().time_since_epoch().count() %
                                      1'000'000));
  return all;
}

void soak(const World& world, const Pace& pace) {
  const unsigned creations = number_from("SOAK_CREATIONS", pace.creations);
  for (const unsigned seed : seeds()) {
    SCOPED_TRACE("SOAK_SEED=" + std::to_string(seed));
    auto settings = Cluster::settings();
    settings.create_timeout =
        60;  // after a deadlock, the error names the members that each member waits for
    settings.report_after = pace.report_after;
    Cluster cluster(world, settings);
    const Schedule schedule(seed, cluster.size(), static_cast<int>(creations),
                            pace.steps_in_a_phase);
    cluster.run([&](Member& member) {
      run_process(member, schedule, pace, seed * 1000 + static_cast<unsigned>(member.rank()) * 10);
    });
    if (::testing::Test::HasFailure()) {
      std::fprintf(stderr, "failed schedule: SOAK_SEED=%u\n", seed);
      return;
    }
  }
}

class RandomSchedules : public ::testing::TestWithParam<World> {};

TEST_P(RandomSchedules, NeverDeadlockOrMismatch) { soak(GetParam(), kQuick); }
TEST_P(RandomSchedules, NeverDeadlockIfMembersAreLateAtTheRendezvousTimeout) {
  soak(GetParam(), kAtRendezvousTimeout);
}
TEST_P(RandomSchedules, NeverDeadlockIfMembersCallAfterReports) {
  soak(GetParam(), kBeyondReports);
}

INSTANTIATE_TEST_SUITE_P(Worlds, RandomSchedules,
                         ::testing::Values(World::of(1, 4), World::of(3, 2), World::dealt(2, 5)));

}  // namespace
}  // namespace shim::sessions::testing
