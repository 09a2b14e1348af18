// SPDX-License-Identifier: BSD-3-Clause
// Tests progress, waiting, flushing, and requests of other modules.
#include <time.h>

#include "shim/p2p/backoff.hpp"
#include "shim/transport/self/self.hpp"
#include "shim/transport/sleeper.hpp"
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

TEST(Wait, EndsWithTheConditionOrTheDeadline) {
  World world{{.processes = 1}};
  EXPECT_TRUE(value_of(world.engine(0).wait_until([] { return true; })));
  int asked = 0;
  EXPECT_TRUE(value_of(world.engine(0).wait_until([&] { return ++asked == 500; })));
  base::Nanoseconds begin = base::now_ns();
  EXPECT_FALSE(value_of(
      world.engine(0).wait_until([] { return false; }, base::Deadline::after_seconds(0.05))));
  EXPECT_GE(base::now_ns() - begin, 50'000'000);
}

/// Return the CPU time of this thread.
base::Nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

TEST(Wait, SleepsAfterSpinning) {
  World world{{.processes = 2}};
  const base::Nanoseconds before = processor_time();
  EXPECT_FALSE(value_of(
      world.engine(0).wait_until([] { return false; }, base::Deadline::after_seconds(0.4))));
  EXPECT_LT(processor_time() - before, 200'000'000) << "CPU time of a wait of 400 ms";
}

/// A router without peers.
class NoRouter final : public Router {
 public:
  base::Result<Route> route_to(base::ProcessId) override {
    return base::Error(base::ErrorClass::other, "no such process");
  }
  bool is_alive(base::ProcessId) override { return true; }
};

/// An engine without peers, which sleeps without spinning first.
class SleepingEngine : public testing::Test {
 protected:
  static base::Settings without_spinning() {
    base::Settings settings;
    settings.spin = settings.yield = 0;
    return settings;
  }

  NoRouter router;
  const std::unique_ptr<transport::Transport> self = transport::make_self();
  Engine engine{{.settings = without_spinning(), .router = &router, .transports = {self.get()}}};
};

TEST_F(SleepingEngine, OneThreadIsNotCountedTwice) {
  int asked = 0;
  // enters the engine, as conditions may, also in the last check before a sleep
  const auto not_yet = [&] { return ++asked < 0 || engine.counts().control_sent > 0; };
  EXPECT_FALSE(value_of(engine.wait_until(not_yet, base::Deadline::after_seconds(0.4))));
  EXPECT_LT(asked, 400) << "the engine must take sleeps of 10 ms, not of 1 ms";
}

/// A transport without packets that records how threads sleep on it.
class IdleTransport : public transport::Transport, public transport::Sleeper {
 public:
  IdleTransport(std::string_view name, bool wakes, int descriptor)
      : name_(name), wakes_(wakes), descriptor_(descriptor) {}
  std::string_view name() const override { return name_; }
  transport::Reach reach() const override { return transport::Reach::node; }
  std::size_t max_packet_bytes() const override { return 1024; }
  transport::Bytes address() const override { return {}; }
  base::Result<transport::Link*> open(transport::ConstSpan) override {
    return base::Error(base::ErrorClass::arg, "no such process");
  }
  base::Result<transport::Attempt> try_send(transport::Link&, transport::ConstSpan,
                                            transport::ConstSpan) override {
    return transport::Attempt::again;
  }
  base::Result<int> poll(transport::Sink&) override { return 0; }
  bool is_flushed() const override { return true; }
  transport::Sleeper* sleeper() override { return wakes_ || descriptor_ >= 0 ? this : nullptr; }
  bool may_wait_for_descriptors() override { return wakes_; }
  int descriptor() const override { return descriptor_; }
  void sleep(std::int64_t nanoseconds, const LastCheck&,
             std::span<const int> descriptors) override {
    ++sleeps;
    longest = std::max(longest, nanoseconds);
    last_descriptors.assign(descriptors.begin(), descriptors.end());
    std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
  }
  const Counts& counts() const override { return counts_; }

  int sleeps = 0;
  std::int64_t longest = 0;
  std::vector<int> last_descriptors;

 private:
  std::string_view name_;
  bool wakes_;
  int descriptor_;
  Counts counts_;
};

/// An IdleTransport that records how many threads sleep on it at one time.
class CountingTransport final : public IdleTransport {
 public:
  CountingTransport() : IdleTransport("first", true, -1) {}
  void sleep(std::int64_t nanoseconds, const LastCheck&, std::span<const int>) override {
    const int now = ++asleep_;
    for (int most = most_asleep; most < now && !most_asleep.compare_exchange_weak(most, now);)
      continue;
    std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
    --asleep_;
  }
  std::atomic<int> most_asleep{0};

 private:
  std::atomic<int> asleep_{0};
};

// A packet wakes all threads that sleep on the transport.
TEST_F(SleepingEngine, NoMoreThreadsThanCoresSleepOnTheTransport) {
  const int cores = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  CountingTransport transport;
  Engine waiter{{.settings = without_spinning(), .router = &router, .transports = {&transport}}};
  std::vector<std::thread> threads;
  for (int i = 0; i < cores + 10; ++i)
    threads.emplace_back([&] {
      EXPECT_FALSE(
          value_of(waiter.wait_until([] { return false; }, base::Deadline::after_seconds(0.2))));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(transport.most_asleep, 0);
  EXPECT_LE(transport.most_asleep, cores);
}

class WaitSets : public SleepingEngine {
 protected:
  /// Wait until the deadline with two transports, neither of which has packets.
  void wait_with(IdleTransport& second) {
    Engine waiter{{.settings = without_spinning(),
                   .router = &router,
                   .transports = {&first, self.get(), &second}}};
    EXPECT_FALSE(
        value_of(waiter.wait_until([] { return false; }, base::Deadline::after_seconds(0.1))));
  }
  IdleTransport first{"first", true, -1};
};

TEST_F(WaitSets, DescriptorEndsASleep) {
  IdleTransport second("second", false, 5);
  wait_with(second);
  EXPECT_EQ(first.last_descriptors, std::vector{5});
  EXPECT_GT(first.longest, 1'000'000) << "the descriptor must not shorten the sleep";
}

TEST_F(WaitSets, TransportWithoutDescriptorIsPolled) {
  IdleTransport second("second", false, -1);
  wait_with(second);
  EXPECT_TRUE(first.last_descriptors.empty());
  EXPECT_GT(first.sleeps, 0);
  EXPECT_LE(first.longest, 1'000'000);
}

TEST_F(WaitSets, SingleThreadDoesNotSleepOnSelf) {
  IdleTransport second("second", true, -1);
  Engine waiter{
      {.settings = without_spinning(), .router = &router, .transports = {self.get(), &second}}};
  EXPECT_FALSE(
      value_of(waiter.wait_until([] { return false; }, base::Deadline::after_seconds(0.1))));
  EXPECT_GT(second.sleeps, 0);
  EXPECT_GT(second.longest, 1'000'000);
}

TEST_F(WaitSets, NoSleepOnATransportThatCannotWake) {
  first = IdleTransport("first", false, -1);
  IdleTransport second("second", true, 5);
  wait_with(second);
  EXPECT_EQ(first.sleeps + second.sleeps, 0);
}

// A condition may have side effects, such as dequeuing a request. This also holds for the last
// check before a sleep.
TEST_F(SleepingEngine, ConditionIsNotEvaluatedAgainOnceTrue) {
  for (int holds_at = 1; holds_at < 10; ++holds_at) {
    int asked = 0;
    EXPECT_TRUE(value_of(engine.wait_until([&] { return ++asked == holds_at; },
                                           base::Deadline::after_seconds(0.5))));
    EXPECT_EQ(asked, holds_at);
  }
}

TEST(Backoff, LagsBehindASlowSenderIfUndersubscribed) {
  Backoff alone({.spin = 10, .yield = 10}), oversubscribed({.spin = 0, .yield = 10});
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(alone.should_lag());
    alone.restart(i % 4 + 1);
    oversubscribed.restart(i % 4 + 1);
  }
  EXPECT_TRUE(alone.should_lag());
  EXPECT_FALSE(oversubscribed.should_lag());
  alone.restart(5);
  EXPECT_FALSE(alone.should_lag());
}

TEST(Backoff, PollingSleepIsAFractionOfTheWaitIfUndersubscribed) {
  constexpr base::Nanoseconds kLongest = 1'000'000;
  Backoff alone({.spin = 1, .yield = 0}),
      oversubscribed({.spin = 0, .yield = 0, .measures_yields = true});
  const base::Nanoseconds begin = base::now_ns();
  for (Backoff* backoff : {&alone, &oversubscribed})
    while (backoff->step() != Backoff::Step::sleep) continue;
  const base::Nanoseconds begun = base::now_ns() - begin;
  for (base::Nanoseconds waited : {0, 100'000, 3'200'000, 8'000'000, 50'000'000}) {
    const base::Nanoseconds sleep_ns = alone.next_poll_sleep_ns(kLongest, begin + begun + waited);
    EXPECT_GE(sleep_ns, std::clamp<base::Nanoseconds>(waited / 16, 50'000, kLongest));
    EXPECT_LE(sleep_ns, std::clamp<base::Nanoseconds>((waited + begun) / 16, 50'000, kLongest));
  }
  EXPECT_EQ(alone.next_poll_sleep_ns(10'000, begin), 10'000)
      << "a lower maximum takes precedence over the minimum";
  EXPECT_EQ(oversubscribed.next_poll_sleep_ns(kLongest, base::now_ns()), 50'000);
  EXPECT_EQ(oversubscribed.next_poll_sleep_ns(kLongest, base::now_ns()), 100'000)
      << "if oversubscribed, each sleep is longer than the last";
}

TEST(Wait, MakesProgressForOthers) {
  World world{{.processes = 2}};
  auto contexts = world.contexts();
  Data data = pattern(50'000, 1), received(50'000);
  Request* send = value_of(
      world.engine(0).isend(*contexts[0], from(data), 1, 1, SendMode::standard));
  std::thread other([&] { value_of(world.engine(1).recv(*contexts[1], into(received), 0, 1)); });
  EXPECT_TRUE(value_of(world.engine(0).wait_until([&] { return send->is_done(); })));
  other.join();
  EXPECT_EQ(received, data);
  world.engine(0).release(send);
}

TEST(Wait, FlushWaitsForTheOutbox) {
  World world{{.processes = 2, .faults = {.outbox_polls = 20}}};
  auto contexts = world.contexts();
  Data data = pattern(100, 1);
  ASSERT_TRUE(world.engine(0).send(*contexts[0], from(data), 1, 1, SendMode::standard));
  EXPECT_TRUE(world.engine(0).flush(base::Deadline::after_seconds(10)));
  world.kill(0);  // no packets are lost, because the outbox is empty
  EXPECT_EQ(world.network().in_flight(), 0u);
}

TEST(Wait, FlushEndsAtItsDeadline) {
  World world{{.processes = 2, .faults = {.queue_limit = 1}}};
  auto contexts = world.contexts();
  Data data = pattern(100, 1);
  Request* sends[] = {
      value_of(world.engine(0).isend(*contexts[0], from(data), 1, 1, SendMode::standard)),
      value_of(world.engine(0).isend(*contexts[0], from(data), 1, 1, SendMode::standard))};
  EXPECT_FALSE(world.engine(0).flush(base::Deadline::after_seconds(0.02)));
  ASSERT_TRUE(world.step_until([&] { return sends[1]->is_done(); }));
  EXPECT_TRUE(world.engine(0).flush(base::Deadline::after_seconds(10)));
  for (Request* send : sends) world.engine(0).release(send);
}

TEST(ProgressWork, RunsEachRoundUntilRemoved) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  int first = 0, second = 0;
  std::uint64_t second_number = 0;
  const std::uint64_t first_number = engine.add_progress([&] { ++first; });
  second_number = engine.add_progress([&] {
    ASSERT_TRUE(engine.progress()) << "nested progress must not run this work again";
    if (++second == 3) engine.remove_progress(second_number);
  });
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(engine.progress());
  EXPECT_EQ(second, 3);
  EXPECT_GE(first, 10);
  engine.remove_progress(first_number);
  int before = first;
  ASSERT_TRUE(engine.progress());
  EXPECT_EQ(first, before);
  engine.remove_progress(first_number);
}

TEST(ProgressWork, MayBeAddedAndRemovedByOtherWorkOfTheSameRound) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  int of_removed = 0, of_added = 0;
  std::uint64_t behind = 0, added = 0;
  const std::uint64_t first = engine.add_progress([&] {
    engine.remove_progress(behind);
    if (added == 0) added = engine.add_progress([&] { ++of_added; });
  });
  behind = engine.add_progress([&] { ++of_removed; });
  ASSERT_TRUE(engine.progress());
  EXPECT_EQ(of_removed, 0);
  EXPECT_EQ(of_added, 0) << "added work runs in the next round";
  ASSERT_TRUE(engine.progress());
  EXPECT_EQ(of_added, 1);
  engine.remove_progress(first);
  engine.remove_progress(added);
}

TEST(ProgressWork, RunsAgainAfterAnException) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  int runs = 0;
  std::uint64_t number = 0;
  number = engine.add_progress([&] {
    if (++runs == 1) throw 4711;
    if (runs == 3) {
      engine.remove_progress(number);
      throw 4712;
    }
  });
  EXPECT_THROW(static_cast<void>(engine.progress()), int);
  EXPECT_TRUE(engine.progress()) << "the exception must release the lock and the work";
  EXPECT_EQ(runs, 2);
  EXPECT_THROW(static_cast<void>(engine.progress()), int);
  EXPECT_TRUE(engine.progress());
  EXPECT_EQ(runs, 3);
}

TEST(ProgressWork, DestroyedWorkMayCallTheEngine) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  int ended = 0;
  const auto at_end = [&](int*) {
    ++ended;
    EXPECT_TRUE(engine.progress());
  };
  auto kept = std::shared_ptr<int>(nullptr, at_end);
  engine.remove_progress(engine.add_progress([kept = std::exchange(kept, nullptr)] {}));
  EXPECT_EQ(ended, 1);
  kept = std::shared_ptr<int>(nullptr, at_end);
  std::uint64_t number = 0;
  number = engine.add_progress(
      [&engine, &number, kept = std::exchange(kept, nullptr)] { engine.remove_progress(number); });
  ASSERT_TRUE(engine.progress());
  EXPECT_EQ(ended, 2) << "work that removes itself is destroyed";
}

// A thread whose collectives find all messages at once never enters a wait.
TEST(ProgressWork, RunsBetweenPolls) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  int turns = 0;
  const std::uint64_t number = engine.add_progress([&] { ++turns; });
  for (int i = 0; i < 160; ++i) engine.poll_active();
  EXPECT_GE(turns, 5);
  EXPECT_LE(turns, 40) << "most polls run no progress round";
  engine.remove_progress(number);
}

TEST(ProgressWork, RunsPreSleepWork) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  int rounds = 0, rounds_before_sleep = 0, sleeps = 0;
  const std::uint64_t number = engine.add_progress(
      [&] { ++rounds; },
      [&] {
        ASSERT_TRUE(engine.progress()) << "nested progress must not run pre-sleep work";
        if (sleeps++ == 0) rounds_before_sleep = rounds;
      });
  EXPECT_TRUE(
      value_of(engine.wait_until([&] { return sleeps == 3; }, base::Deadline::after_seconds(10))));
  EXPECT_GT(rounds_before_sleep, 1) << "the engine must poll before its first sleep";
  engine.remove_progress(number);
  EXPECT_FALSE(
      value_of(engine.wait_until([] { return false; }, base::Deadline::after_seconds(0.05))));
  EXPECT_EQ(sleeps, 3);
}

TEST(ProgressWork, NeverRunsConcurrentlyOrAfterItsRemoval) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) ASSERT_TRUE(engine.progress());
    });
  }
  for (int generation = 0; generation < 100; ++generation) {
    auto counter = std::make_unique<int>(0);  // not atomic: ThreadSanitizer reports concurrent runs
    std::atomic<int> seen{0};
    const std::uint64_t number = engine.add_progress([&] { seen = ++*counter; });
    while (seen < 3) std::this_thread::yield();
    engine.remove_progress(number);
    counter.reset();
  }
  stop = true;
  for (auto& thread : threads) thread.join();
}

/// A request of another module, which completes after a number of rounds.
class Countdown : public Request {
 public:
  Countdown(Engine& engine, int rounds, int& living, bool persistent = false)
      : engine_(engine), rounds_(rounds), living_(living) {
    ++living_;
    if (persistent) {
      make_persistent();
    } else {
      begin();
    }
  }
  ~Countdown() override { --living_; }

 private:
  void begin() {
    left_ = rounds_;
    number_ = engine_.add_progress([this] { count(); });
  }
  void count() {
    if (--left_ > 0) return;
    engine_.remove_progress(number_);
    complete({.bytes = 42});
  }
  base::Status on_start() override {
    begin();
    return {};
  }

  Engine& engine_;
  int rounds_, left_ = 0;
  std::uint64_t number_ = 0;
  int& living_;
};

TEST(DerivedRequest, CanBeWaitedForTestedAndReleased) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  int living = 0;
  Request* waited = new Countdown(engine, 200, living);
  ASSERT_TRUE(engine.wait(*waited));
  EXPECT_EQ(waited->outcome().bytes, 42u);
  engine.release(waited);
  EXPECT_EQ(living, 0);

  Request* tested = new Countdown(engine, 3, living);
  int rounds = 1;
  while (!value_of(engine.test(*tested))) ++rounds;
  EXPECT_EQ(rounds, 3);
  engine.release(tested);
  EXPECT_EQ(living, 0);

  Request* released = new Countdown(engine, 3, living);
  engine.release(released);
  EXPECT_EQ(living, 1) << "a released request lives until it completes";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine.progress());
  EXPECT_EQ(living, 0);
}

TEST(DerivedRequest, CanBePersistent) {
  World world{{.processes = 1}};
  Engine& engine = world.engine(0);
  int living = 0;
  Request* request = new Countdown(engine, 5, living, true);
  EXPECT_TRUE(request->is_done() && !request->is_active());
  for (int generation = 0; generation < 3; ++generation) {
    ASSERT_TRUE(engine.start(*request));
    EXPECT_FALSE(request->is_done());
    ASSERT_TRUE(engine.wait(*request));
    EXPECT_EQ(request->outcome().bytes, 42u);
    engine.deactivate(*request);
    EXPECT_EQ(request->outcome().bytes, 0u);
  }
  engine.release(request);
  EXPECT_EQ(living, 0);
}

}  // namespace
}  // namespace shim::p2p
