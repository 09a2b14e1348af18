// SPDX-License-Identifier: BSD-3-Clause
// Tests calls that an exception ends: std::bad_alloc, or an exception of a callback that the
// program registered. The engine must keep no pointer to the call's objects, and no lock.
#include <new>
#include <stdexcept>

#include "shim/transport/self/self.hpp"
#include "shim/transport/sleeper.hpp"
#include "tests/base/deep_stack.hpp"
#include "tests/p2p/world.hpp"

namespace shim::p2p {
namespace {

/// A transport to this process that can throw.
class ThrowingTransport final : public transport::Transport, private transport::Sleeper {
 public:
  std::string_view name() const override { return "throwing"; }
  transport::Reach reach() const override { return self_->reach(); }
  std::size_t max_packet_bytes() const override { return self_->max_packet_bytes(); }
  transport::Bytes address() const override { return self_->address(); }
  base::Result<transport::Link*> open(transport::ConstSpan address) override {
    return self_->open(address);
  }
  base::Result<transport::Attempt> try_send(transport::Link& link, transport::ConstSpan header,
                                            transport::ConstSpan payload) override {
    return self_->try_send(link, header, payload);
  }
  base::Result<int> poll(transport::Sink& sink) override {
    if (std::exchange(throws_in_poll, false)) throw std::bad_alloc();
    return self_->poll(sink);
  }
  bool is_flushed() const override { return self_->is_flushed(); }
  const Counts& counts() const override { return self_->counts(); }
  transport::RemoteReads* remote_reads() override { return self_->remote_reads(); }
  transport::Sleeper* sleeper() override { return this; }

  bool throws_in_poll = false, throws_in_sleep = false;

 private:
  void sleep(std::int64_t nanoseconds, const LastCheck& last_check,
             std::span<const int> descriptors) override {
    if (std::exchange(throws_in_sleep, false)) throw std::bad_alloc();
    self_->sleeper()->sleep(nanoseconds, last_check, descriptors);
  }
  bool may_wait_for_descriptors() override { return false; }
  int descriptor() const override { return -1; }

  std::unique_ptr<transport::Transport> self_ = transport::make_self();
};

/// An engine of process 0 in a communicator with process 1, to which there is no route.
class Unwinding : public testing::Test, private Router {
 protected:
  static base::Settings without_spinning() {
    base::Settings settings;
    settings.spin = settings.yield = 0;
    return settings;
  }

  ThrowingTransport transport;
  std::shared_ptr<Engines> engines = std::make_shared<Engines>();
  Engine engine{{.settings = without_spinning(),
                 .self = {0, 0},
                 .router = this,
                 .transports = {&transport},
                 .engines = engines}};
  ContextPtr context = engine.make_context(
      {std::make_shared<Everyone>(2),
       0,
       std::make_shared<ContextBases>(ContextBases{.common = 7}),
       7,
       {}});
  int liveness_checks = 0;  ///< of process 1

 private:
  base::Result<Route> route_to(base::ProcessId process) override {
    if (process.rank == 0) return Route{&transport, transport.address()};
    return base::Error(base::ErrorClass::other, "no route");
  }
  bool is_alive(base::ProcessId process) override {
    if (process.rank == 1) ++liveness_checks;
    return true;
  }
};

TEST_F(Unwinding, ProbeIsForgotten) {
  const std::uint64_t work = engine.add_progress(
      [] { throw std::runtime_error("by the program"); });
  EXPECT_THROW(base::run_deep_in_the_stack([&] { (void)engine.probe(*context, 1, 3); }),
               std::runtime_error);
  engine.remove_progress(work);
  liveness_checks = 0;
  ASSERT_TRUE(engine.progress());
  EXPECT_EQ(liveness_checks, 0) << "no operation waits for process 1 any more";
}

TEST_F(Unwinding, ReceiveThatPolledIsForgotten) {
  const ContextPtr own = engine.make_context({std::make_shared<Everyone>(1),
                                              0,
                                              std::make_shared<ContextBases>(ContextBases{8, {}}),
                                              8,
                                              {}});
  const Data data = pattern(8, 1);
  Data first(8), second(8);
  transport.throws_in_poll = true;
  EXPECT_THROW(base::run_deep_in_the_stack([&] { (void)engine.recv(*own, into(first), 0, 3); }),
               std::bad_alloc);
  Request* receive = value_of(engine.irecv(*own, into(second), 0, 3));
  ASSERT_TRUE(engine.send(*own, from(data), 0, 3, SendMode::standard));
  ASSERT_TRUE(engine.progress());
  EXPECT_TRUE(receive->is_done());
  EXPECT_EQ(second, data);
  EXPECT_EQ(first, Data(8)) << "the buffer of the first receive belongs to the program again";
  if (!receive->is_done()) {
    EXPECT_TRUE(Engine::cancel(*receive));
  }
  Engine::release(receive);
}

TEST_F(Unwinding, SleepingThreadIsNoLongerCounted) {
  transport.throws_in_sleep = true;
  EXPECT_THROW((void)engine.wait_until([] { return false; }), std::bad_alloc);
  EXPECT_EQ(engines->sleepers(), 0) << "other engines' threads would not poll for this one";
}

TEST_F(Unwinding, LastCheckBeforeASleepKeepsTheCountOfSleepers) {
  int checks = 0;  // the third one is the last check before the first sleep
  const auto throws = [&] { return ++checks == 3 ? throw std::bad_alloc() : false; };
  EXPECT_THROW((void)engine.wait_until(throws), std::bad_alloc);
  EXPECT_EQ(engines->sleepers(), 0);
}

TEST_F(Unwinding, ControlMessagesAreHandledAfterwards) {
  int handled = 0;
  engine.set_control_handler([&](base::ProcessId, std::span<const std::byte>) {
    if (++handled == 1) throw std::bad_alloc();
  });
  ASSERT_TRUE(engine.send_control({0, 0}, std::vector<std::byte>(4)));
  EXPECT_THROW((void)engine.progress(), std::bad_alloc);
  ASSERT_TRUE(engine.send_control({0, 0}, std::vector<std::byte>(4)));
  ASSERT_TRUE(engine.progress());
  EXPECT_EQ(handled, 2);
}

}  // namespace
}  // namespace shim::p2p
