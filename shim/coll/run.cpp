// SPDX-License-Identifier: BSD-3-Clause
// The ways to run a task: to its end, or as a request that progress moves along.
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "shim/coll/coll.hpp"
#include "shim/coll/execution.hpp"
#include "shim/coll/meeting.hpp"

namespace shim::coll {
namespace {

/// For one who waits for a message: now and then it is time to look whether it will ever come.
class Patience {
 public:
  /// Asked in each round of a wait: looks at the clock in few of them.
  bool is_over() {
    if (++rounds_ % kRoundsPerClock != 0) return false;
    const base::Nanoseconds now = base::now_ns();
    if (since_ == 0) since_ = now;
    if (now - since_ < kPatience) return false;
    since_ = now;
    return true;
  }

 private:
  static constexpr base::Nanoseconds kPatience = 1'000'000'000;
  static constexpr std::uint64_t kRoundsPerClock = 256;
  std::uint64_t rounds_ = 0;
  base::Nanoseconds since_ = 0;
};

/// A collective in progress, as a request. The engine's progress runs its work on one thread at a time.
class Collective final : public p2p::Request {
 public:
  explicit Collective(Comm& comm) : comm_(comm), engine_(comm.engine()) {}
  /// Persistent: every start makes a task of its own.
  Collective(Comm& comm, std::function<Task()> make_task) : comm_(comm), engine_(comm.engine()), make_task_(std::move(make_task)) {
    make_persistent();
  }

  void begin(Task task) {
    execution_.emplace(comm_, std::move(task), Execution::Way::suspended);
    try {
      if (has_ended_at_once()) return finish();
    } catch (...) {  // pthread_exit and the like: nobody would end the collective otherwise
      if (execution_) execution_->fail({base::ErrorClass::other, "the call that began the collective did not return"});
      has_ended();
      finish();
      throw;
    }
    number_.store(0, std::memory_order_relaxed);  // nobody else knows us yet
    const std::uint64_t number = engine_.add_progress([this] { move_along(); });
    // release: pairs with the acquire in move_along(). The collective may have ended when this returns.
    number_.store(number, std::memory_order_release);
  }

 private:
  base::Status on_start() override {
    begin(make_task_());
    return {};
  }
  bool has_ended_at_once() {
    if (has_ended()) return true;
    engine_.look();
    return has_ended();
  }
  void move_along() {
    const std::uint64_t number = number_.load(std::memory_order_acquire);
    if (number == 0) return;  // begin() is not through yet
    if (!has_ended()) return;
    engine_.remove_progress(number);
    finish();
  }
  /// After an error: once the others have been told.
  bool has_ended() {
    if (execution_) {
      if (!execution_->advance()) return false;
      result_ = execution_->take_result();
      execution_.reset();  // frames are gone, and with them all use of the buffers, before anybody sees the end
      if (!*result_) told_by_ = base::Deadline::after_seconds(kTellingSeconds);
    }
    return *result_ || engine_.has_told_failures() || told_by_.passed();
  }
  void finish() {
    base::Status result = *std::exchange(result_, std::nullopt);
    if (result) complete({});
    else complete({}, std::move(result).error());
  }

  Comm& comm_;
  p2p::Engine& engine_;
  std::function<Task()> make_task_;
  std::optional<Execution> execution_;
  std::optional<base::Status> result_;  ///< once the execution is over, until it is given
  base::Deadline told_by_ = base::Deadline::never();
  std::atomic<std::uint64_t> number_{0};  ///< of our work in the engine; 0: not known yet
};

}  // namespace

base::Status run_to_end(Comm& comm, Task task) {
  const MeetingGoesOn meeting(comm);
  Execution execution(comm, std::move(task), meeting.is_open() ? Execution::Way::watched : Execution::Way::blocking);
  while (!execution.advance()) {
    // every wait begins anew, so that the engine spins at first and one long wait does not make the next ones slow
    if (!meeting.is_open()) {
      SHIM_TRY(comm.engine().wait_until([&execution] { return execution.has_settled(); }));
      continue;
    }
    Patience patience;
    bool has_settled = false;
    while (!has_settled) {
      SHIM_TRY(comm.engine().wait_until([&] { return (has_settled = execution.has_settled()) || patience.is_over(); }));
      if (has_settled) break;
      if (auto agreed = meeting.look_for_disagreement(); !agreed) {
        execution.fail(std::move(agreed).error());
        break;
      }
    }
  }
  return execution.take_result();
}

base::Result<p2p::Request*> start(Comm& comm, Task task) {
  auto request = std::make_unique<Collective>(comm);
  request->begin(std::move(task));
  return request.release();
}

p2p::Request* prepare(Comm& comm, std::function<Task()> make_task) {
  return new Collective(comm, std::move(make_task));
}

}  // namespace shim::coll
