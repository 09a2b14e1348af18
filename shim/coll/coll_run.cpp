// SPDX-License-Identifier: BSD-3-Clause
// Runs a task: to its end, or as a request that progress resumes.
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "shim/coll/coll.hpp"
#include "shim/coll/execution.hpp"
#include "shim/coll/shm_collective.hpp"

namespace shim::coll {
namespace {

/// Timer of a member that waits for a message. Each time it is over, the member checks if the
/// message can still arrive (ShmCollectiveFallback::check_mismatch).
class Patience {
 public:
  /// True once per kPatience of waiting; call it once per progress round. Reads the clock in one of
  /// kRoundsPerClock calls.
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

/// A collective in progress, as a request. The engine's progress runs it on one thread at a time.
class Collective final : public p2p::Request {
 public:
  explicit Collective(Comm& comm) : comm_(comm), engine_(comm.engine()) {}
  /// Construct a persistent request; each start makes a task.
  Collective(Comm& comm, std::function<Task()> make_task)
      : comm_(comm), engine_(comm.engine()), make_task_(std::move(make_task)) {
    make_persistent();
  }

  void begin(Task task) {
    execution_.emplace(comm_, std::move(task), Execution::WaitMode::suspended);
    try {
      if (has_ended_at_once()) return finish();
    } catch (...) {  // pthread_exit or an exception: end the collective
      if (execution_)
        execution_->fail(
            {base::ErrorClass::other, "the call that started the collective did not return"});
      has_ended();
      finish();
      throw;
    }
    number_.store(0, std::memory_order_relaxed);  // no other thread has access yet
    const std::uint64_t number = engine_.add_progress([this] { move_along(); });
    // release: pairs with the acquire in move_along(). The collective may have ended when this
    // returns.
    number_.store(number, std::memory_order_release);
  }

  std::optional<p2p::Awaited> awaited() const override {
    return p2p::Awaited{.context = &comm_.context(), .plane = p2p::Plane::collective};
  }

 private:
  base::Status on_start() override {
    begin(make_task_());
    return {};
  }
  bool has_ended_at_once() {
    if (has_ended()) return true;
    engine_.poll_active();
    return has_ended();
  }
  void move_along() {
    const std::uint64_t number = number_.load(std::memory_order_acquire);
    if (number == 0) return;  // begin() has not finished
    if (!has_ended()) return;
    engine_.remove_progress(number);
    finish();
  }
  /// Advance the collective. True if it has ended and, after an error, all failure notices have
  /// been sent or kFailureNoticeSeconds have passed.
  bool has_ended() {
    if (execution_) {
      if (!execution_->advance()) return false;
      result_ = execution_->take_result();
      // Destroy the frames, so that no thread sees the end while they use the buffers.
      execution_.reset();
      if (!*result_) notice_deadline_ = base::Deadline::after_seconds(kFailureNoticeSeconds);
    }
    return *result_ || engine_.has_sent_failure_notices() || notice_deadline_.passed();
  }
  void finish() {
    base::Status result = *std::exchange(result_, std::nullopt);
    if (result)
      complete({});
    else
      complete({}, std::move(result).error());
  }

  Comm& comm_;
  p2p::Engine& engine_;
  std::function<Task()> make_task_;
  std::optional<Execution> execution_;
  std::optional<base::Status> result_;  ///< set from the end of the execution until finish()
  base::Deadline notice_deadline_ = base::Deadline::never();
  std::atomic<std::uint64_t> number_{0};  ///< of the progress function in the engine; 0: unknown
};

}  // namespace

base::Status run_to_end(Comm& comm, Task task) {
  const ShmCollectiveFallback shm(comm);
  Execution execution(
      comm, std::move(task),
      shm.has_open_round() ? Execution::WaitMode::watched : Execution::WaitMode::blocking);
  CollectiveSubject subject(comm.context(), execution);
  while (!execution.advance()) {
    // each wait starts anew, so that the engine spins at first and one long wait does not slow down
    // the next
    if (!shm.has_open_round()) {
      SHIM_TRY(comm.engine().wait_until([&execution] { return execution.has_settled(); }, subject));
      continue;
    }
    Patience patience;
    bool has_settled = false;
    while (!has_settled) {
      SHIM_TRY(comm.engine().wait_until(
          [&] { return (has_settled = execution.has_settled()) || patience.is_over(); }, subject));
      if (has_settled) break;
      if (auto agreed = shm.check_mismatch(); !agreed) {
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
