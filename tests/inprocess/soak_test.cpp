// SPDX-License-Identifier: BSD-3-Clause
// Random schedules of creations: several threads of each process, overlapping groups, few tags that are reused at once, members that
// come late or in opposite orders, sessions that end between. Whatever the schedule, nothing deadlocks, nothing is mixed up, and nobody is
// told of a mistake.
//
// Each time two schedules are the usual ones, and one is new: its seed comes from the clock and is printed where it fails.
// SOAK_SEED=N runs the one schedule of that seed, SOAK_SEEDS=N so many from the usual first one, SOAK_CREATIONS=N so many creations each.
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

/// How a schedule is gone through.
struct Pace {
  int steps_in_a_phase;
  double report_after;
  unsigned late_one_in;                           ///< one thread in so many comes late to a step,
  std::chrono::microseconds least_late, most_late;  ///< by so much
  unsigned creations;
};
constexpr Pace kQuick{25, 0.2, 8, 0us, 3000us, 150};
/// Members of one node come about when the others lose their patience at the roll call and go on by messages.
constexpr Pace kAboutPatience{25, 0.2, 4, 4ms, 16ms, 100};
/// Members have been asked several times, and reported, before they come; and threads mostly create for the first time in their process.
constexpr Pace kBeyondReports{6, 0.02, 3, 150ms, 350ms, 24};

/// A tag is used by one call of a process at a time (MPI-4.1 §7.4.2), so each has a thread of its own.
constexpr std::array kTags = {"test.a", "test.b", "test.c"};
constexpr int kThreads = static_cast<int>(kTags.size());

unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

/// One creation, as all members know it.
struct Step {
  Ranks members;
  int thread;  ///< of each member; says the tag
  int number;
};

/// Steps between two points at which processes may begin anew.
struct Phase {
  std::vector<Step> steps;
  std::vector<bool> begins_anew;  ///< by rank, after the steps
};

class Schedule {
 public:
  Schedule(unsigned seed, int processes, int creations, int steps_in_a_phase) : random_(seed), processes_(processes) {
    for (int number = 0; number < creations;) {
      Phase& phase = phases_.emplace_back();
      for (int i = 0; i < steps_in_a_phase && number < creations; ++i) phase.steps.push_back(step(number++));
      for (int rank = 0; rank < processes; ++rank) phase.begins_anew.push_back(one_in(3));
    }
  }
  const std::vector<Phase>& phases() const { return phases_; }

 private:
  bool one_in(unsigned n) { return random_() % n == 0; }

  Step step(int number) {
    // now and then the group of before, so that equal groups and tags follow each other
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

/// One thread of one process: its steps in their order, late for some.
void go_through(const Member& member, const Phase& phase, int thread, const Pace& pace, unsigned seed) {
  std::mt19937 random(seed);
  for (const Step& step : phase.steps) {
    if (step.thread != thread || std::ranges::find(step.members, member.rank()) == step.members.end()) continue;
    const auto range = static_cast<unsigned>((pace.most_late - pace.least_late).count());
    if (random() % pace.late_one_in == 0) std::this_thread::sleep_for(pace.least_late + std::chrono::microseconds(random() % range));
    exercise(member.create(step.members, kTags[static_cast<std::size_t>(thread)]), step.number);
    if (::testing::Test::HasFailure()) return;
  }
}

void live(Member& member, const Schedule& schedule, const Pace& pace, unsigned seed) {
  for (const Phase& phase : schedule.phases()) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] { go_through(member, phase, thread, pace, seed + static_cast<unsigned>(thread)); });
    for (std::thread& thread : threads) thread.join();
    if (::testing::Test::HasFailure()) return;
    if (!phase.begins_anew[static_cast<std::size_t>(member.rank())]) continue;
    member.end();
    member.begin();
  }
}

/// Of the schedules to be gone through.
std::vector<unsigned> seeds() {
  if (std::getenv("SOAK_SEED")) return {number_from("SOAK_SEED", 1)};
  std::vector<unsigned> all(number_from("SOAK_SEEDS", 1));
  std::iota(all.begin(), all.end(), 1u);
  all.push_back(static_cast<unsigned>(std::chrono::system_clock::now().time_since_epoch().count() % 1'000'000));
  return all;
}

void soak(const World& world, const Pace& pace) {
  const unsigned creations = number_from("SOAK_CREATIONS", pace.creations);
  for (const unsigned seed : seeds()) {
    SCOPED_TRACE("SOAK_SEED=" + std::to_string(seed));
    auto settings = Cluster::settings();
    settings.create_timeout = 60;  // a deadlock tells who waits for whom
    settings.report_after = pace.report_after;
    Cluster cluster(world, settings);
    const Schedule schedule(seed, cluster.size(), static_cast<int>(creations), pace.steps_in_a_phase);
    cluster.run([&](Member& member) { live(member, schedule, pace, seed * 1000 + static_cast<unsigned>(member.rank()) * 10); });
    if (::testing::Test::HasFailure()) {
      std::fprintf(stderr, "the schedule is that of SOAK_SEED=%u\n", seed);
      return;
    }
  }
}

class Soak : public ::testing::TestWithParam<World> {};

TEST_P(Soak, NoScheduleDeadlocksOrMixesUp) { soak(GetParam(), kQuick); }
TEST_P(Soak, NorDoesOneOfMembersThatComeWhenOthersGiveUpWaitingInMemory) { soak(GetParam(), kAboutPatience); }
TEST_P(Soak, NorDoesOneOfMembersThatComeAfterReports) { soak(GetParam(), kBeyondReports); }

INSTANTIATE_TEST_SUITE_P(Worlds, Soak, ::testing::Values(World::of(1, 4), World::of(3, 2), World::dealt(2, 5)));

}  // namespace
}  // namespace shim::sessions::testing
